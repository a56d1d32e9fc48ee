"""Tokenizers that only a tokenizer.json describes: ModernBERT's bytes and ALBERT's pieces."""

import random

import pytest

from luke_jax.errors import InputError
from luke_jax.text.library import LibraryTokenizer
from luke_jax.text.tokenizer_files import load_tokenizer, save_tokenizer

TEXTS = [
  "Aurelio Verdano was born  in Castrel.",
  "naïve 日本 🙂[MASK] don't",
  "",
  "   x",
  "ΑΒ 12,000",
]
PIECES = [
  *("Hello", "world", " ", "   ", "\n", "\t", "é", "ﬁ", "日本", "🙂", "👩‍👩‍👧", "[MASK]", "[SEP]"),
  *("\u200b", "\x00", "ß", "Ⅷ", "１", "don't", "...", "a" * 120, "\u0301", "ا", "ก", "12,000", "İ"),
]
KINDS = ("bytes", "pieces")
ROLES = {
  "bytes": ("[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"),
  "pieces": ("[CLS]", "<pad>", "[SEP]", "<unk>", "[MASK]"),
}
NAMES = ("cls_token", "pad_token", "sep_token", "unk_token", "mask_token")


def made(kind, folder):
  """Writes a small tokenizer.json as ModernBERT has it, or as ALBERT, and the names beside it."""
  import json

  import tokenizers
  from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

  names, words = ROLES[kind], " ".join(TEXTS) * 3
  if kind == "bytes":
    library = tokenizers.Tokenizer(models.BPE())
    library.normalizer = normalizers.NFC()
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    library.train_from_iterator(
      [words], trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet, show_progress=False)
    )
    library.add_tokens([tokenizers.AddedToken(" " * n, normalized=True) for n in (2, 3)])
  else:
    library = tokenizers.Tokenizer(models.Unigram())
    steps = (normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase())
    library.normalizer = normalizers.Sequence(list(steps))
    library.pre_tokenizer, library.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
      vocab_size=60, special_tokens=[names[1], names[3]], unk_token=names[3], show_progress=False
    )
    library.train_from_iterator([words], trainer)
  library.add_special_tokens(
    [tokenizers.AddedToken(x, lstrip=x == "[MASK]", special=True) for x in names]
  )
  folder.mkdir(exist_ok=True)
  library.save(str(folder / "tokenizer.json"))
  config = {"tokenizer_class": "PreTrainedTokenizerFast"} | dict(zip(NAMES, names, strict=True))
  (folder / "tokenizer_config.json").write_text(json.dumps(config))
  return folder


@pytest.mark.parametrize("kind", KINDS)
def test_words_are_added_and_all_is_saved(kind, tmp_path):
  tokenizer = load_tokenizer(made(kind, tmp_path / "one"))
  assert isinstance(tokenizer, LibraryTokenizer) and not tokenizer.special.doubled
  longer = tokenizer.with_words(["<ent>", "<ent2>"])
  assert longer.special.marker_ids == (tokenizer.vocab_size, tokenizer.vocab_size + 1)
  save_tokenizer(longer, tmp_path / "two")
  again = load_tokenizer(tmp_path / "two")
  texts = [*TEXTS, "<ent> Castrel <ent>"]
  assert again.encode(texts, offsets=True) == longer.encode(texts, offsets=True)
  assert [x.ids for x in again.encode(texts)] == [x.ids for x in longer.encode(texts)]
  assert again.encode(TEXTS) == tokenizer.encode(TEXTS)
  assert again.special == longer.special and again.vocab_size == longer.vocab_size


@pytest.mark.parametrize("kind", KINDS)
def test_a_word_of_the_vocabulary_keeps_its_id(kind, tmp_path):
  tokenizer = load_tokenizer(made(kind, tmp_path))
  piece = next(x for x in ("a", "e") if tokenizer.piece_id(x) != tokenizer.special.unknown)
  longer = tokenizer.with_words([piece, "@new"])
  assert longer.special.ids[piece] == tokenizer.piece_id(piece)
  (tokens,) = longer.encode(["@new"])
  assert tokens.ids == [longer.special.ids["@new"]] == [tokenizer.vocab_size]


@pytest.mark.parametrize("kind", KINDS)
def test_offsets_are_of_words_without_the_space_before(kind, tmp_path):
  tokenizer = load_tokenizer(made(kind, tmp_path))
  for text, tokens in zip(TEXTS, tokenizer.encode(TEXTS, offsets=True), strict=True):
    pieces = [text[start:end] for start, end in tokens.offsets]
    assert all(x == x.lstrip() or x.isspace() for x in pieces)
    covered = {i for start, end in tokens.offsets for i in range(start, end)}
    assert all(i in covered or text[i].isspace() for i in range(len(text)))


def test_bytes_decode_to_the_text_and_know_where_words_start(tmp_path):
  tokenizer = load_tokenizer(made("bytes", tmp_path))
  for text, tokens in zip(TEXTS, tokenizer.encode(TEXTS), strict=True):
    assert tokenizer.decode(tokens.ids) == text
  starts = tokenizer.word_starts()
  assert starts[tokenizer.piece_id("Ġ")] and not starts[tokenizer.piece_id("e")]
  with pytest.raises(InputError, match="expected ids from 0"):
    tokenizer.decode([tokenizer.vocab_size])


def test_what_a_file_lacks_is_named(tmp_path):
  folder = made("pieces", tmp_path)
  (folder / "tokenizer_config.json").unlink()
  with pytest.raises(InputError, match=r"no token \[PAD\]; expected a vocabulary like BERT"):
    load_tokenizer(folder)
  made("bytes", tmp_path)
  path = tmp_path / "tokenizer.json"
  path.write_text(path.read_text().replace('"type": "BPE"', '"type": "GPT"'))
  with pytest.raises(InputError, match=r"tokenizer\.json: .*expected a tokenizer of the library"):
    load_tokenizer(tmp_path)


@pytest.mark.parity
@pytest.mark.parametrize("kind", KINDS)
def test_ids_and_offsets_are_those_of_transformers(kind, tmp_path):
  """Its offsets have the space before a word, ours leave it out."""
  transformers = pytest.importorskip("transformers")
  theirs = transformers.AutoTokenizer.from_pretrained(made(kind, tmp_path))
  ours, drawn = load_tokenizer(tmp_path), random.Random(0)
  texts = ["".join(drawn.choices(PIECES, k=drawn.randint(0, 14))) for _ in range(500)]
  for text, tokens in zip(texts, ours.encode(texts, offsets=True), strict=True):
    expected = theirs(text, add_special_tokens=False, return_offsets_mapping=True)
    assert tokens.ids == expected["input_ids"], text
    for (start, end), span in zip(tokens.offsets, expected["offset_mapping"], strict=True):
      word = text[slice(*span)]
      assert (start, end) == (span[1] - len(word.lstrip() or word), span[1]), text
