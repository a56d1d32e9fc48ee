"""`luke-jax predict-masks` by hand."""

import re

import numpy as np
import pytest
from tiny import tiny_model, tiny_processor

from luke_jax.cli import main
from luke_jax.errors import InputError
from luke_jax.tasks.mask_predictions import predict_masks

TEXT = "Beyoncé <b>lives</b> in [MASK] Angeles & <mask>."


@pytest.fixture(scope="module")
def model():
  return tiny_model()


@pytest.fixture(scope="module")
def directory(model, tmp_path_factory):
  path = tmp_path_factory.mktemp("models") / "tiny"
  model.save(path)
  return str(path)


def test_guesses_are_the_most_probable(model):
  processor = model.processor
  found = predict_masks(model, processor, TEXT, spans=[(0, 7)], top=3)
  assert [(p.kind, TEXT[slice(*p.characters)]) for p in found] == [
    ("word", "[MASK]"),
    ("word", "<mask>"),
    ("entity", "Beyoncé"),
  ]
  inputs = processor(TEXT.replace("[MASK]", "<mask>"), entity_spans=[(0, 7)])
  outputs = model(**inputs)
  places = np.flatnonzero(inputs["input_ids"][0] == processor.tokenizer.special.mask)
  logits = [*outputs["logits"][0, places], outputs["entity_logits"][0, 0]]
  for prediction, scores in zip(found, logits, strict=True):
    shares = np.exp(np.asarray(scores, np.float64))
    best = np.sort(shares / shares.sum())[::-1][:3]
    np.testing.assert_allclose([g.probability for g in prediction.guesses], best, rtol=1e-4)
  title = model.processor.entity_vocab.title(int(logits[-1].argmax()))
  assert found[-1].guesses[0].name == title


def test_in_the_terminal_and_as_a_page(directory, tmp_path, capsys):
  page = tmp_path / "page.html"
  options = ["--span", "0", "7", "--top", "2", "--html", str(page)]
  assert main(["predict-masks", directory, TEXT, *options]) == 0
  printed = capsys.readouterr().out
  assert TEXT in printed and "entity at 0 7: Beyoncé" in printed
  assert printed.endswith(f"\n{page}: 3 masks\n")
  assert len(re.findall(r"0\.\d{3}", printed)) == 6
  html = page.read_text(encoding="utf-8")
  assert '<mark class="entity">Beyoncé</mark> &lt;b&gt;lives&lt;/b&gt; in' in html
  assert '<mark class="word">[MASK]</mark>' in html and html.count("<table>") == 3
  assert not re.search(r"https?:|src=|<b>", html)
  assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_what_would_steer_a_terminal_is_not_printed(directory, capsys):
  text = "\x1b[2J\r[MASK]\x9b"
  assert main(["predict-masks", directory, text, "--span", "0", "4", "--top", "1"]) == 0
  printed = capsys.readouterr().out
  assert "␛[2J␍[MASK]\ufffd" in printed and "entity at 0 4: ␛[2J" in printed
  assert not {"\x1b", "\r", "\x9b"} & set(printed)


def test_a_page_that_cannot_be_written_is_told_first(directory, tmp_path, capsys):
  assert main(["predict-masks", directory, TEXT, "--html", str(tmp_path / "gone/page.html")]) == 2
  assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
  ("text", "options", "line"),
  [
    ("Nothing here.", [], "text: no [MASK] and no span; expected something to predict"),
    (TEXT, ["--span", "3", "900"], "span 0 is (3, 900); expected 0 <= start < end <="),
    (TEXT, ["--top", "0"], "top: 0; expected 1 or more"),
    ("[MASK] " * 100, [], "tokens; expected at most max_length 64"),
  ],
)
def test_bad_input_is_one_line(directory, text, options, line, capsys):
  assert main(["predict-masks", directory, text, *options]) == 2
  said = capsys.readouterr().err
  assert line in said and said.count("\n") == 1


def test_a_model_of_another_kind_is_refused(tmp_path, capsys):
  tiny_model("LukeForEntityClassification").save(tmp_path / "typing")
  assert main(["predict-masks", str(tmp_path / "typing"), TEXT]) == 2
  assert "expected a whole LukeForMaskedLM" in capsys.readouterr().err


def test_words_of_a_model_without_entities(tmp_path, capsys):
  processor = tiny_processor()
  words = tiny_model(entity_vocab_size=0, text=False, vocab_size=processor.tokenizer.vocab_size)
  words.save(tmp_path / "words")
  processor.tokenizer.save_vocab(tmp_path / "words")
  assert main(["predict-masks", str(tmp_path / "words"), "a <mask>", "--top", "1"]) == 0
  assert "word at 2 8: <mask>" in capsys.readouterr().out
  assert main(["predict-masks", str(tmp_path / "words"), "a <mask>", "--span", "0", "1"]) == 2
  assert "spans: 1 of them; expected none, for the model has no" in capsys.readouterr().err


def test_spans_have_to_lie_in_the_text():
  with pytest.raises(InputError, match="expected 0 <= start"):
    predict_masks(lambda **inputs: {}, tiny_processor(), "abc", spans=[(2, 2)])
