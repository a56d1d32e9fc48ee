"""CamemBERT's vocabulary: SentencePiece's pieces, numbered otherwise than XLM-R's."""

import json
import shutil

import numpy as np
import pytest

from luke_jax.text import load_tokenizer, save_tokenizer

TEXTS = ["Tokyo and  Los Angeles, naïve", "東京 <mask> the café", "", "ﬁne ½ ☃"]


@pytest.fixture
def camembert(tiny_directories, tmp_path):
  """A directory as the hub's: its model says what the vocabulary is."""
  shutil.copy(tiny_directories["sentence_piece"] / "sentencepiece.bpe.model", tmp_path)
  (tmp_path / "config.json").write_text(json.dumps({"model_type": "camembert"}))
  return tmp_path


def test_ids_are_three_more_than_those_of_xlm_r(camembert, sentence_piece):
  tokenizer = load_tokenizer(camembert, markers=False)
  special = tokenizer.special
  found = (special.start, special.pad, special.end, special.unknown)
  assert found == (5, 1, 6, 3) and special.mask == sentence_piece.special.mask + 3
  assert tokenizer.vocab_size == special.mask + 1
  both = zip(tokenizer.encode(TEXTS), sentence_piece.encode(TEXTS), strict=True)
  for ours, theirs in both:
    assert ours.ids == [id + 3 if id != 3 else 3 for id in theirs.ids]
    assert tokenizer.decode(ours.ids) == sentence_piece.decode(theirs.ids)


def test_its_files_say_what_it_is(camembert, tmp_path):
  tokenizer = load_tokenizer(camembert, markers=False)
  save_tokenizer(tokenizer, tmp_path / "saved")
  settings = json.loads((tmp_path / "saved" / "tokenizer_config.json").read_text())
  assert settings["tokenizer_class"] == "CamembertTokenizer"
  again = load_tokenizer(tmp_path / "saved", markers=False)
  assert again.special == tokenizer.special and again.encode(TEXTS) == tokenizer.encode(TEXTS)


@pytest.mark.parity
def test_ids_are_those_of_transformers(camembert, tmp_path):
  transformers = pytest.importorskip("transformers")
  theirs = transformers.AutoTokenizer.from_pretrained(camembert)
  expected = theirs(TEXTS, add_special_tokens=False)["input_ids"]
  theirs.save_pretrained(tmp_path / "whole")  # as a tokenizer.json, in version 5
  save_tokenizer(load_tokenizer(camembert, markers=False), tmp_path / "ours")
  for folder in (camembert, tmp_path / "whole", tmp_path / "ours"):
    found = load_tokenizer(folder, markers=False)
    assert [tokens.ids for tokens in found.encode(TEXTS)] == expected, folder
    assert (found.special.start, found.special.end) == (theirs.cls_token_id, theirs.sep_token_id)
    assert found.special.mask == theirs.mask_token_id
  (tmp_path / "ours" / "config.json").write_text(json.dumps({"model_type": "camembert"}))
  again = transformers.AutoTokenizer.from_pretrained(tmp_path / "ours")
  np.testing.assert_equal(again(TEXTS, add_special_tokens=False)["input_ids"], expected)
