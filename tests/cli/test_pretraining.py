"""From records to a pretrained model directory, by the commands."""

import dataclasses
import json
from pathlib import Path

import jax
import numpy as np
import pytest
from networks import network
from safetensors.numpy import load_file, save_file
from tiny import TEXTS
from toy_corpus import FIRST, toy_model, toy_records, write_corpus

import luke_jax
from luke_jax.cli import main
from luke_jax.errors import InputError
from luke_jax.models.network import initial_params
from luke_jax.runs.starts import start_params
from luke_jax.systems.bert import RobertaConfig
from luke_jax.text import load_entity_vocab, load_processor, load_tokenizer, save_entity_vocab
from luke_jax.text.entity_vocab import SPECIAL_ENTITIES
from luke_jax.training.experiment import to_json
from luke_jax.training.experiment_files import load_experiment

pytestmark = pytest.mark.usefixtures("one_device")

REPOSITORY = Path(__file__).resolve().parents[2]
EXPERIMENT = """
from luke_jax.systems.luke import LukeConfig
from luke_jax.pipeline.batches import Data
from luke_jax.tasks.pretraining import Pretraining
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.optimizer import Optimizer

def config():
  return Experiment(
    model=LukeConfig(**{model!r}),
    task=Pretraining(({folder!r},), 32, 6, 3, held_out=0.1, dev_records=16),
    data=Data(batch_size=8, evaluation_batch_size=8),
    optimizer=Optimizer(learning_rate=1e-2, frozen=("luke/pooler", "luke/encoder")),
    run=Run(steps=2),
  )
"""


def write_experiment(path, folder, **fields):
  model = dataclasses.asdict(toy_model(num_hidden_layers=1, **fields))
  path.write_text(EXPERIMENT.format(model=model, folder=folder))
  return str(path)


def table(directory):
  return luke_jax.load(directory).params["luke"]["entity_embeddings"]["entity"]["embedding"]


@pytest.fixture
def folder(tmp_path):
  return write_corpus(tmp_path / "corpus", toy_records(100))


@pytest.mark.slow
def test_a_pretrained_model_has_the_words_and_titles_of_its_records(folder, tmp_path, capsys):
  file = write_experiment(tmp_path / "toy.py", folder)
  run, model = str(tmp_path / "run"), str(tmp_path / "model")
  assert main(["train", file, "--output", run]) == 0
  summary = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
  assert summary["status"] == "done" and "dev/entity_majority" in summary
  assert main(["export", run, model]) == 0
  card = Path(model, "README.md").read_text(encoding="utf-8")
  assert (
    "| train, dev | corpus | 100 | `" in card and "| `optimizer.learning_rate` | `0.01` |" in card
  )
  assert "| step of this checkpoint | 2 of 2 |" in card and "entity_majority" in card
  assert str(tmp_path) not in card
  loaded = luke_jax.load(model)
  assert loaded.architecture == "LukeForMaskedLM" and not loaded.report.missing
  assert loaded.processor is not None
  assert loaded.processor.entity_vocab.id("Entity 7") == FIRST + 7
  # Its own records have the same entities, though a model always has [MASK2] too: no warning.
  rows = start_params(Path(model), load_experiment(Path(file)))["luke"]["entity_embeddings"]
  assert len(rows["entity"]["embedding"]) == len(loaded.processor.entity_vocab) - 1
  options = ["--span", "0", "3", "--top", "1"]
  assert main(["predict-masks", model, "one [MASK]", *options]) == 0
  assert "word at 4 10" in capsys.readouterr().out
  # A decoder that was trained apart is not lost without a word.
  weights = Path(model, "model.safetensors")
  tensors = load_file(weights)
  table = tensors["luke.entity_embeddings.entity_embeddings.weight"]
  save_file(tensors | {"entity_predictions.decoder.weight": table + 1}, weights)
  with pytest.warns(UserWarning, match=r"is left out; model\.tie_entity_embeddings=false keeps it"):
    start_params(Path(model), load_experiment(Path(file)))
  apart = write_experiment(tmp_path / "apart.py", folder, tie_entity_embeddings=False)
  assert "entity_decoder" in start_params(Path(model), load_experiment(Path(apart)))


@pytest.mark.slow
def test_a_run_of_words_only_has_no_titles(folder, tmp_path):
  file = write_experiment(tmp_path / "control.py", folder, entity_vocab_size=0)
  assert main(["train", file, "--output", str(tmp_path / "run")]) == 0
  assert main(["export", str(tmp_path / "run"), str(tmp_path / "model")]) == 0
  loaded = luke_jax.load(tmp_path / "model")
  assert not loaded.backbone.entities and not (tmp_path / "model/entity_vocab.json").exists()
  assert loaded.tokenizer is not None and loaded.processor.entity_vocab == SPECIAL_ENTITIES


@pytest.mark.slow
def test_a_roberta_goes_on_with_records_whose_words_include_markers(folder, tmp_path):
  """The markers' rows start from those of @ and #, which nothing trains here."""
  luke = toy_model(num_hidden_layers=1)
  names = {field.name for field in dataclasses.fields(RobertaConfig)}
  sizes = {name: x for name, x in dataclasses.asdict(luke).items() if name in names}
  model = RobertaConfig(**sizes | {"vocab_size": luke.vocab_size - 2})
  start, made = tmp_path / "roberta", network("RobertaForMaskedLM", model)
  tokenizer = load_tokenizer(TEXTS / "byte_level", markers=False)
  params = jax.device_get(initial_params(made, jax.random.key(0)))
  luke_jax.Model(made, params, (), tokenizer).save(start)
  text = EXPERIMENT.format(model=sizes, folder=folder).replace("LukeConfig", "RobertaConfig")
  file = tmp_path / "control.py"
  file.write_text(text.replace("systems.luke import", "systems.bert import"))
  changes = [f"run.start={start}", "optimizer.frozen=roberta/embeddings", "run.steps=1"]
  sets = [word for change in changes for word in ("--set", change)]
  assert main(["train", str(file), "--output", str(tmp_path / "run"), *sets]) == 0
  assert main(["export", str(tmp_path / "run"), str(tmp_path / "model")]) == 0
  loaded = luke_jax.load(tmp_path / "model")
  assert loaded.architecture == "RobertaForMaskedLM" and not loaded.report.missing
  rows = loaded.params["roberta"]["embeddings"]["word"]["embedding"]
  assert loaded.tokenizer.special.marker_ids == (len(rows) - 2, len(rows) - 1)
  sources = [tokenizer.piece_id(piece) for piece in "@#"]
  np.testing.assert_array_equal(
    rows[-2:], params["roberta"]["embeddings"]["word"]["embedding"][sources]
  )


def test_a_start_of_another_system_is_refused(folder, tmp_path):
  file = write_experiment(tmp_path / "toy.py", folder)
  luke = load_experiment(Path(file))
  run = tmp_path / "luke"
  (run / "checkpoints").mkdir(parents=True)
  (run / "config.json").write_text(to_json(luke), encoding="utf-8")
  names = {field.name for field in dataclasses.fields(RobertaConfig)}
  sizes = {name: x for name, x in dataclasses.asdict(luke.model).items() if name in names}
  control = dataclasses.replace(luke, model=RobertaConfig(**sizes))
  with pytest.raises(InputError, match="a run of luke; expected one of roberta"):
    start_params(run, control)


@pytest.mark.slow
@pytest.mark.filterwarnings("always:.*the others begin fresh")
def test_entities_keep_their_rows_in_another_vocabulary(folder, tmp_path, capsys):
  """Another order of the titles, one of them new: from a model directory, then from a run."""
  file = write_experiment(tmp_path / "toy.py", folder)
  first, second = tmp_path / "first", tmp_path / "second"
  assert main(["train", file, "--output", str(first)]) == 0
  assert main(["export", str(first), str(tmp_path / "before")]) == 0
  domain = write_corpus(tmp_path / "domain", toy_records(100))
  vocab = load_entity_vocab(domain)
  titles = {**vocab.ids, "Entity 3": vocab.ids["Entity 5"], "Entity 5": vocab.ids["Entity 3"]}
  titles["News"] = titles.pop("Entity 9")
  other = dataclasses.replace(vocab, ids=titles)
  save_entity_vocab(other, f"{domain}/entity_vocab.json")
  file = write_experiment(tmp_path / "domain.py", domain)
  frozen = "optimizer.frozen=luke,masked_words"
  for start in (tmp_path / "before", first):
    output = f"{second}-{start.name}"
    changes = ["--set", f"run.start={start}", "--set", frozen]
    assert main(["train", file, "--output", output, *changes]) == 0
    assert "has 42 of the 43 entities of" in capsys.readouterr().err
    assert main(["export", output, f"{output}-model"]) == 0
    before, after = table(tmp_path / "before"), table(f"{output}-model")
    for title in ("[MASK]", "Entity 3", "Entity 5", "Entity 30"):
      np.testing.assert_array_equal(after[titles[title]], before[vocab.ids[title]])
    new = after[titles["News"]]
    assert new.any() and not (before == new).all(1).any()


def test_a_start_with_another_tokenizer_is_refused(folder, tmp_path, capsys):
  other = write_corpus(tmp_path / "other", toy_records(20), kind="sentence_piece")
  model = toy_model("sentence_piece", num_hidden_layers=1)
  processor = load_processor(other)
  made = network("LukeForMaskedLM", model)
  params = initial_params(made, jax.random.key(0))
  start = luke_jax.Model(made, params, tokenizer=processor.tokenizer, processor=processor)
  start.save(tmp_path / "start")
  file = write_experiment(tmp_path / "toy.py", folder)
  changes = ["--set", f"run.start={tmp_path / 'start'}"]
  assert main(["train", file, "--output", str(tmp_path / "run"), *changes]) == 2
  assert "start: another tokenizer than" in capsys.readouterr().err
