"""The rows of experiments/tener.py: those of the paper's tables, by the authors' recipes."""

import pytest
from experiment_rows import EXPERIMENTS, row_name, rows_of

from luke_jax.convert.saving import save
from luke_jax.systems.tener.config import SIZES
from luke_jax.systems.tener.fresh import Choices, Files, fresh_model
from luke_jax.training.experiment_files import experiment_and_paper

OTHER = ("transformer", "with-scale")
FREE = {"crossner", "uner-zh", "wnut17"}  # of tener.sh
# Attention heads, their width, layers, rate, epochs; F1 of TENER, of the transformer, with scale.
ROWS = {
  "conll2003": (14, 128, 2, 9e-4, 100, 91.43, 89.57, 91.06),
  "ontonotes5": (8, 96, 2, 7e-4, 100, 88.43, 86.73, 87.94),
  "ontonotes4": (4, 48, 2, 7e-4, 100, 72.73, 66.49, 71.72),
  "msra": (6, 80, 2, 7e-4, 100, 92.74, 88.35, 91.67),
  "weibo": (4, 32, 1, 1e-3, 100, 58.17, 46.38, 57.40),
  "resume": (4, 64, 2, 7e-4, 50, 95.00, 93.43, 94.00),
}


QUICK = ("resume",)  # each makes a fresh model of its sizes


@pytest.fixture(
  scope="module",
  params=[pytest.param(x, marks=() if x in QUICK else pytest.mark.slow) for x in ROWS],
)
def folder(request, tmp_path_factory):
  """A folder with a little training file and a fresh model where a data set's experiments look."""
  folder, name = tmp_path_factory.mktemp(request.param), request.param
  data = folder / "tener-data" / name
  data.mkdir(parents=True)
  for file in ("train.txt", "train.conll", "dev.txt", "dev.conll"):
    (data / file).write_text("Rome B-LOC\nis O\n\nAna B-PER\n\n" * 20)
  files = Files(data / "train.txt")
  save(fresh_model(f"tener-{name}", files, Choices())[0], data / "fresh")
  return name, folder


def test_rows_say_what_the_paper_says(folder, monkeypatch):
  name, place = folder
  monkeypatch.chdir(place)
  heads, width, layers, rate, epochs, *scores = ROWS[name]
  paths = [EXPERIMENTS / f"tener.py:{name}{suffix}" for suffix in ("", *(f"-{x}" for x in OTHER))]
  (tener, paper), *others = [experiment_and_paper(path) for path in paths]
  assert [paper["f1"], *(notes["f1"] for _, notes in others)] == scores
  model, run = tener.model, tener.run
  assert (model.num_attention_heads, model.hidden_size) == (heads, heads * width)
  assert (model.num_hidden_layers, model.intermediate_size) == (layers, 2 * heads * width)
  assert (tener.optimizer.kind, tener.optimizer.learning_rate) == ("sgd", rate)
  assert (tener.optimizer.beta1, tener.optimizer.max_gradient) == (0.9, 5.0)
  assert (run.epochs, tener.data.batch_size, tener.schedule.warmup_ratio) == (epochs, 16, 0.01)
  assert run.evaluate_every == 3  # 40 sentences
  assert tener.task.crf and len(tener.task.labels) == 9
  (plain, _), (scaled, _) = others
  assert (plain.model.encoder, plain.model.scale) == ("transformer", False)
  assert (scaled.model.encoder, scaled.model.scale) == ("adatrans", True)
  assert SIZES[f"tener-{name}"].character_encoder == ("cnn" if name == "conll2003" else "adatrans")


def test_every_corpus_has_its_rows():
  rows = {row_name(path) for path in rows_of("tener")} - FREE
  assert rows == {f"{name}{suffix}" for name in ROWS for suffix in ("", *(f"-{x}" for x in OTHER))}
