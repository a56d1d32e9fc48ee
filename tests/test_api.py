"""What people type in a notebook: names of the package, models that show themselves, errors."""

import subprocess
import sys

import pytest
from sample_models import sample_file, save_start
from tiny import tiny_model

import luke_jax
from luke_jax.cli import main
from luke_jax.errors import InputError
from luke_jax.tasks.known import CLASSES

pytestmark = pytest.mark.usefixtures("one_device")


def test_tab_completion_shows_the_api_and_nothing_is_imported_for_it():
  code = "import luke_jax, sys; print(*dir(luke_jax)); print('jax' in sys.modules)"
  done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
  names, imported = done.stdout.splitlines()
  assert {"load", "Model", "train", "fine_tune", "show", "Experiment"} <= set(names.split())
  assert imported == "False"


def test_help_begins_with_what_people_use():
  about = luke_jax.__doc__.partition("All other names are internal")[0]
  assert all(name in about for name in luke_jax.__all__)
  model = tiny_model("LukeForEntityClassification")
  assert {"predict", "save", "labels", "processor"} < set(dir(model))
  assert not {"predicting", "rest", "whole_reader", "of"} & set(dir(model))
  assert all(hasattr(model, name) for name in dir(model))
  assert dir(luke_jax.show) == sorted(luke_jax.show.__all__)


def test_every_name_of_the_package_is_there():
  for name in luke_jax.__all__:
    assert getattr(luke_jax, name) is not None
  with pytest.raises(AttributeError, match="no attribute 'lod'"):
    luke_jax.lod  # noqa: B018


def test_a_model_shows_itself_in_a_few_lines():
  model = tiny_model("LukeForEntityClassification")
  assert repr(model).splitlines() == [
    "Model(LukeForEntityClassification)",
    "  system: LUKE",
    "  sizes: 2 layers, width 64, 2 heads",
    "  words: 602",
    f"  parameters: {sum(x.size for x in _leaves(model.params)):,}",
    "  entities: 7",
    "  labels: 3: person, place, work",
  ]
  page = model._repr_html_()
  assert page.startswith("<table>") and "person, place, work" in page and len(page) < 1000


def _leaves(tree):
  import jax

  return jax.tree.leaves(tree)


@pytest.mark.parametrize(
  ("call", "message"),
  [
    (lambda model: model("text"), r"model\('text'\): expected inputs by name"),
    (lambda model: luke_jax.load(None), "load: None; expected the directory of a model"),
    (lambda model: luke_jax.load(""), "load: ''; expected the directory of a model"),
    (lambda model: luke_jax.train(3, "run"), "experiment: 3; expected an Experiment or a file"),
    (
      lambda model: luke_jax.fine_tune("nre", model, train=[], dev=[]),
      "task 'nre': unknown; expected one of typing.*perhaps ner",
    ),
    (
      lambda model: luke_jax.fine_tune("ner", model, train=[], dev=[], learningrate=1),
      "learningrate: no such field; expected another, perhaps optimizer.learning_rate",
    ),
    (
      lambda model: luke_jax.fine_tune("ner", model, train=[3], dev=[]),
      "train: example 1: 3; expected a dictionary",
    ),
    (
      lambda model: luke_jax.fine_tune("ner", model, train={"text": "a"}, dev=[]),
      "train: .*; expected a file, or a list of dictionaries",
    ),
  ],
)
def test_mistakes_are_one_line(call, message):
  with pytest.raises(InputError, match=message) as refused:
    call(tiny_model())
  assert "\n" not in str(refused.value)


class Frame:
  """The part of a data frame that is used: columns, and its rows as dictionaries."""

  columns = ("text", "span", "labels")

  def __init__(self, rows):
    self.rows = rows

  def to_dict(self, orient):
    assert orient == "records"
    return self.rows


@pytest.mark.slow
def test_examples_from_memory_train_as_those_of_a_file(tmp_path):
  import json

  start = save_start(tmp_path / "start")
  lines = sample_file("typing", "train").read_text(encoding="utf-8").splitlines()[:16]
  rows, file = [json.loads(line) for line in lines], tmp_path / "train.jsonl"
  file.write_text("\n".join(lines), encoding="utf-8")
  settings = {"epochs": 1, "batch_size": 8, "words": 64, "folder": tmp_path / "kept"}
  kept = luke_jax.fine_tune("typing", start, train=file, dev=file, **settings)
  del settings["folder"]
  memory = luke_jax.fine_tune("typing", start, train=Frame(rows), dev=iter(rows), **settings)
  assert memory.scores == kept.scores and kept.summary["status"] == "done"
  assert luke_jax.load(tmp_path / "kept" / "run" / "model").labels == memory.model.labels
  text, span = rows[0]["text"], rows[0]["span"]
  assert memory.model.predict(text, span=span).logits.keys() == set(memory.model.labels)


@pytest.mark.parametrize("task", CLASSES)
def test_every_setting_has_a_meaning(task, capsys):
  assert main(["settings", task]) == 0
  rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
  assert all(len(row) == 4 and row[3] for row in rows), [row[0] for row in rows if not row[3]]
  defaults = {row[0]: row[2] for row in rows}
  assert float(defaults["optimizer.learning_rate"]) in (1e-5, 1.5e-5, 3e-5)
  assert defaults["run.best_metric"] in ('"f1"', '"exact_match"', '"accuracy"')


def test_settings_of_an_experiment_file_and_of_nothing(capsys):
  assert main(["settings", "experiments/pretraining.py:luke-large"]) == 0
  assert "task.masking.words\ta number\t0.15\t" in capsys.readouterr().out
  assert main(["settings", "nre"]) == 2
  assert "nre: no task; expected one of typing" in capsys.readouterr().err
