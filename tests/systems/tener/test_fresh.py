"""From files of names and vectors to a TENER that finds them."""

import re

import numpy as np
import pytest

import luke_jax
from luke_jax.cli import main
from luke_jax.convert.saving import save
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.formats.files import Faults
from luke_jax.runs.recipes import task_experiment
from luke_jax.systems.tener.fresh import Choices, Files, fresh_model
from luke_jax.text.whole_words import BIGRAMS

TRAIN = """\
Ana B-PER
went O
to O
Rome B-LOC

rome B-LOC
and O
Ana B-PER
in O
1984 O

"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)
  Path("train.conll").write_text(TRAIN * 4)
  Path("dev.conll").write_text(TRAIN + "Oslo B-LOC\n")
  Path("vectors.txt").write_text("ana 1 2 3\nRome 1 0 2\noslo 0 1 5\nto 7 7 9\n")
  return tmp_path


@pytest.mark.slow
def test_words_of_the_files_and_the_vectors_they_have(folder):
  files = Files(Path("train.conll"), [Path("dev.conll")], words=Path("vectors.txt"))
  choices = Choices(digits_as_zero=True, bigrams=True, least_bigrams=8, least_characters=9)
  model, (coverage,) = fresh_model("tener-weibo", files, choices)
  vocabularies = model.tokenizer.vocabularies
  # The most frequent first; of the other file those that have a vector.
  assert vocabularies.words[5:] == (
    "Ana",
    "0000",
    "Rome",
    "and",
    "in",
    "rome",
    "to",
    "went",
    "Oslo",
  )
  assert set(vocabularies.characters[2:]) == set("naoe0")  # 9 times or more
  assert vocabularies.bigrams == ()  # none stands there 8 times
  assert (coverage.entries, coverage.exact, coverage.lower) == (9, 2, 2)
  assert (coverage.uses, coverage.covered) == (36, 16)
  assert str(coverage).startswith("vectors.txt: words: 9 entries, 2 with a vector, 2 with that of")
  table = model.params["tener"]["word"]["embedding"]
  assert table.shape == (14, 3)
  np.testing.assert_allclose(table[[5, 13]].std(1), 1, rtol=1e-5)
  assert np.abs(table[8]).max() <= 1  # without a vector: uniform
  plain, _ = fresh_model("tener-weibo", files, Choices(keep_scale=True))
  assert plain.params["tener"]["word"]["embedding"][5].tolist() == [1, 2, 3]


@pytest.mark.slow
@pytest.mark.filterwarnings(r"ignore:dev.conll. 1 of 9 pieces are \[UNK\]")
def test_a_fresh_model_learns_to_find_names(folder, capsys):
  Path("sentences.txt").write_text("Ana went to Rome\nrome and Ana in 1984\nOslo\n")
  np.save("vectors.npy", np.ones((10, 2, 3), np.float32))
  new = ["new", "fresh", "--train", "train.conll", "--size", "tener-weibo"]
  assert main([*new, "--sentence-vectors", "."]) == 0
  assert "fresh: 13 words, " in capsys.readouterr().out
  fields = "task.word_vectors=. data.batch_size=8 data.evaluation_batch_size=8 run.epochs=null"
  fields += " run.steps=30 run.evaluate_every=30 optimizer.learning_rate=0.02 run.log_every=30"
  fields += " data.lengths=1"
  train = ["train", "tagging", "--train", "train.conll", "--dev", "dev.conll", "--model", "fresh"]
  sets = [part for field in fields.split() for part in ("--set", field)]
  assert main([*train, "--output", "run", *sets]) == 0
  assert re.search(r'"dev/f1": (0\.[89]|1)', capsys.readouterr().out)
  model = luke_jax.load("run/model")
  (found,) = model.predict(["Oslo"])
  assert set(found.tags) <= {"O", "B-LOC", "S-LOC", "S-PER"}
  assert [x.text for x in model.predict("Ana went to Rome")] == ["Ana", "Rome"]
  assert main(["predict", "tagging", "run/model", "Ana is gone"]) == 2
  error = capsys.readouterr().err
  assert "no vectors of the sentence 'Ana is gone' in" in error and error.count("\n") == 1


def test_characters_of_words_and_the_recipe(folder):
  Path("zh.conll").write_text("北京 B-LOC\n很 O\n大 O\n\n" * 3)
  files = Files(Path("zh.conll"))
  choices = Choices(characters=True, bigrams=True, character_encoder="none")
  model, _ = fresh_model("tener-resume", files, choices)
  assert set(model.tokenizer.vocabularies.words[5:]) == set("北京很大")
  assert set(model.tokenizer.vocabularies.bigrams[2:]) == {"北京", "京很", "很大", "大\n"}
  assert not model.config.character_vocab_size
  save(model, "zh")
  expected = (
    "zh: a TENER, which has no head for classification; expected one of tagging, or another"
  )
  with pytest.raises(InputError, match=expected):
    task_experiment("classification", (Path("zh.conll"),) * 2, Path("zh"), [])
  made = task_experiment("tagging", (Path("zh.conll"),) * 2, Path("zh"), ["task.characters=true"])
  assert made.task.labels == ("O", "B-LOC", "I-LOC", "E-LOC", "S-LOC") and made.task.crf
  (row, *_) = made.engine.records(made.backbone, "train").rows
  assert [made.task.labels[x] for x in row.labels[1:-1]] == ["B-LOC", "E-LOC", "O", "O"]
  # What training reads is what prediction does.
  examples = made.task.read(Path("zh.conll"), Faults())
  (asked, *_) = made.task.features(luke_jax.load("zh").processor, examples)
  bigrams = [
    model.tokenizer.vocabularies.bigrams.index(x) for x in ("北京", "京很", "很大", "大\n")
  ]
  assert row.extra[BIGRAMS].tolist() == asked.extra[BIGRAMS].tolist() == [0, *bigrams, 0]
  assert (made.optimizer.kind, made.optimizer.max_gradient) == ("sgd", 5.0)
  assert (made.optimizer.weight_decay, made.run.epochs, made.data.batch_size) == (0.0, 100, 16)


@pytest.mark.parametrize(
  ("arguments", "message"),
  [
    (["--train", "none"], "none: no such file"),
    (["--train", "empty.conll"], "empty.conll: no words; expected sentences"),
    (
      ["--train", "train.conll", "--size", "large"],
      "size: 'large'; expected one of tener-conll2003",
    ),
    (["--train", "train.conll", "--vectors", "train.conll"], "line 1: 'B-PER'; expected numbers"),
    (["--train", "train.conll", "--sentence-vectors", "x"], "sentences.txt: no such file"),
  ],
)
def test_bad_input_is_one_line(folder, capsys, arguments, message):
  Path("empty.conll").write_text("\n\n")
  assert main(["new", "fresh", *arguments]) == 2
  error = capsys.readouterr().err
  assert message in error and error.count("\n") == 1 and not Path("fresh").exists()


def test_a_model_without_a_head_says_what_it_lacks(folder, capsys):
  model, _ = fresh_model("tener-weibo", Files(Path("train.conll")), Choices())
  save(model, Path("fresh"))
  expected = (
    "a TenerModel; expected one of TenerForTokenClassification, TenerForTokenClassificationW"
  )
  with pytest.raises(InputError, match=expected):
    luke_jax.load("fresh").predict("Ana")
  assert main(["predict-masks", "fresh", "Ana [MASK]"]) == 2
  expected = "luke-jax: fresh: a TenerModel; expected another system, with masked words\n"
  assert capsys.readouterr().err == expected


def test_python_sets_fields_of_the_starts_own_system(folder):
  model, _ = fresh_model("tener-weibo", Files(Path("train.conll")), Choices())
  save(model, Path("fresh"))
  files = {"train": "train.conll", "dev": "dev.conll"}
  with pytest.raises(InputError, match=r"model\.encoder: 'cnn'; expected"):
    luke_jax.fine_tune("tagging", "fresh", **files, encoder="cnn")
