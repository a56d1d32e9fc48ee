"""The rows of experiments/english.py start from the real BERT where weights allow."""

import shutil
from pathlib import Path

import pytest
from experiment_rows import row_name, rows_of
from small_systems import drawn

from luke_jax.convert import published
from luke_jax.models.keys import flatten
from luke_jax.models.network import abstract_params
from luke_jax.runs.starts import start_params
from luke_jax.systems.mpnet import MpnetConfig
from luke_jax.training.experiment_files import load_experiment

# By the end of a row's name; others are BERTs.
SYSTEMS = {
  "base": "mpnet",
  "luke": "luke",
  "ernie": "ernie_thu",
  "roberta": "roberta",
  "r": "xlm_roberta",
}
FRESH = ("roberta", "xlm_roberta")  # no weights of theirs are among the free data


@pytest.mark.slow
@pytest.mark.parametrize("path", rows_of("english"), ids=row_name)
def test_every_row_has_the_parameters_of_its_start(path, minilm, tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)
  reviews = tmp_path / "datasets" / "fine_food" / "train.ss"
  reviews.parent.mkdir(parents=True)
  reviews.write_text("ana\t\tbread\t\t5\t\tgood bread .\n")  # its users have vectors
  names = tmp_path / "datasets" / "english" / "ner"
  names.mkdir(parents=True)
  for name in ("train", "train_timed", "train_redocred"):  # shares of labels
    (names / f"{name}.jsonl").write_text('{"tokens": ["Ana", "sang"], "tags": ["B-PER", "O"]}\n')
  small = tmp_path / "small"  # in the place of MPNet, which is a large download
  here = {"english": minilm, "mpnet": small}
  if row_name(path).endswith("-base"):
    sizes = {"vocab_size": 30522, "max_position_embeddings": 514}
    drawn(MpnetConfig, "none", **sizes).save(small)
    for name in ("tokenizer.json", "tokenizer_config.json"):
      shutil.copy(minilm / name, small)
  monkeypatch.setattr(published, "published", here.__getitem__)
  experiment = load_experiment(path)
  system = experiment.backbone.config
  assert system.name == SYSTEMS.get(row_name(path).rpartition("-")[2], "bert")
  assert (system.name in FRESH) == (experiment.run.start is None)
  if system.name in FRESH:
    return
  if experiment.run.start.startswith("results/"):  # of another row, which nobody has run here
    _, table, name, seed = Path(experiment.run.start).parts
    assert seed == "seed-1" and name in {row_name(x) for x in rows_of(table)}
    return
  params = flatten(start_params(Path(experiment.run.start), experiment))
  expected = flatten(abstract_params(experiment.task.network(experiment.backbone)))
  assert {path: x.shape for path, x in params.items()} == {
    path: x.shape for path, x in expected.items()
  }
  assert (experiment.backbone.entities > 0) == (system.name == "luke")
