"""The raters: text and user together say the rating, the text alone half of the time."""

import json
from collections import Counter
from pathlib import Path

import pytest

from data.raters.generate import OPINIONS, REVIEWS, SPECIAL, generous, main, words
from luke_jax.cli import main as run
from luke_jax.formats.files import Faults
from luke_jax.tasks.classification.files import read
from luke_jax.training.experiment_files import load_experiment

FILE = Path(__file__).parents[2] / "experiments" / "ma_bert.py"
DEGREES = {word: degree for degree, row in enumerate(OPINIONS, start=1) for word in row}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
  folder = tmp_path_factory.mktemp("raters")
  main(folder)
  return folder


def examples(folder, split):
  return read(folder / f"{split}.ss", Faults(), attributes=("user",))


def test_text_and_user_say_the_rating_and_the_text_alone_half_of_the_time(folder):
  users = set()
  for split, count in REVIEWS.items():
    found = examples(folder, split)
    assert len(found) == count
    said = Counter()
    for example in found:
      (degree,) = (DEGREES[word] for word in example.text.split() if word in DEGREES)
      (user,), (rating,) = example.attributes, example.labels
      assert int(rating) == degree + generous(int(user.removeprefix("user")))
      said[degree, rating] += 1
      assert split == "train" or user in users
      users.add(user)
    best = sum(max(said[degree, str(degree + more)] for more in (0, 1)) for degree in range(1, 5))
    assert best <= 0.55 * count


def test_the_vocabulary_has_every_word_and_bytes_are_the_same(folder, tmp_path):
  pieces = (folder / "vocab.txt").read_text().split("\n")[:-1]
  assert pieces == [*SPECIAL, *words()]
  assert load_experiment(Path(f"{FILE}:raters")).model.vocab_size == len(pieces)
  assert {word for x in examples(folder, "train") for word in x.text.split()} <= set(pieces)
  main(tmp_path)
  for path in folder.iterdir():
    assert (tmp_path / path.name).read_bytes() == path.read_bytes()


@pytest.mark.parametrize(("name", "labels"), [("imdb", 10), ("yelp-2013", 5), ("yelp-2014", 5)])
def test_the_papers_rows_have_its_sizes(name, labels):
  experiment = load_experiment(Path(f"{FILE}:{name}"))
  task, attributes = experiment.task, experiment.task.attributes
  assert task.labels == tuple(str(rating) for rating in range(1, labels + 1))
  assert (attributes.names, attributes.form, attributes.layers) == (("user", "product"), "d", 6)
  assert (task.keep, task.words, experiment.run.epochs) == ((128, 382), 512, 20)
  assert task.train.endswith(".train.txt.ss" if name == "imdb" else "20-20.train.ss")


@pytest.mark.slow
def test_a_model_learns_what_the_text_alone_does_not_say(folder, tmp_path):
  """Form d, in a tenth of the experiment's steps."""
  files = [f"task.{split}={folder / f'{split}.ss'}" for split in REVIEWS]
  changes = [*files, f"task.text={folder}", "run.epochs=2", "run.evaluate_every=188"]
  arguments = [part for change in changes for part in ("--set", change)]
  experiment = f"{FILE}:raters"
  output = ["--output", str(tmp_path / "d")]
  assert run(["experiment", "run", experiment, "--seeds", "1", *output, *arguments]) == 0
  result = json.loads((tmp_path / "d" / "seed-1" / "result.json").read_text())
  assert result["scores"]["test"]["accuracy"] > 0.9
