"""Tasks and systems that users define in their own files do all that those of the package do."""

import dataclasses
import importlib.util
import json
import shutil
from pathlib import Path

import jax
import pytest
from sample_models import TOKENIZER, save_roberta, save_start
from tiny import same_params

import luke_jax
from luke_jax.cli import main
from luke_jax.errors import InputError
from luke_jax.model import Model
from luke_jax.models.network import Network, initial_params
from luke_jax.models.system import Backbone, TokenCounts
from luke_jax.models.table import system_named, system_of
from luke_jax.plan.plan import step_flops
from luke_jax.tasks.known import is_named, task_class
from luke_jax.tasks.ner.task import NamedEntities
from luke_jax.text import load_tokenizer
from luke_jax.training.experiment_files import load_experiment

HERE = Path(__file__).parent
GERMAN, ENGLISH = ("Der Hund", "Das Haus", "Die Stadt"), ("The dog", "The house", "The town")

pytestmark = pytest.mark.usefixtures("one_device")


def last_line(capsys):
  return json.loads(capsys.readouterr().out.splitlines()[-1])


def module(path):
  """The classes of a user's file, as a notebook has them."""
  spec = importlib.util.spec_from_file_location(path.stem, path)
  found = importlib.util.module_from_spec(spec)
  spec.loader.exec_module(found)
  return found


def texts(path, start):
  lines = [{"text": f"{x} {start + i}", "label": "de"} for i, x in enumerate(GERMAN * 4)]
  lines += [{"text": f"{x} {start + i}", "label": "en"} for i, x in enumerate(ENGLISH * 4)]
  path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


@pytest.fixture
def task_file(tmp_path):
  """The user's file, with data and a pretrained model beside it."""
  texts(tmp_path / "train.jsonl", 0)
  texts(tmp_path / "dev.jsonl", 50)
  save_start(tmp_path / "start")
  return Path(shutil.copy(HERE / "own_task.py", tmp_path / "languages.py"))


def test_a_task_of_ones_own(task_file, capsys):
  folder = task_file.parent
  run = str(folder / "run")
  assert main(["train", str(task_file), "--output", run]) == 0
  summary = last_line(capsys)
  assert summary["dev/accuracy"] == 1.0
  assert main(["train", str(task_file), "--output", run]) == 0  # goes on, which is nothing
  assert last_line(capsys)["step"] == summary["step"]
  assert main(["evaluate", str(task_file), run, str(folder / "dev.jsonl")]) == 0
  assert last_line(capsys)["accuracy"] == 1.0
  text = '{"text": "Das Haus 7"}'
  assert main(["predict", str(task_file), run, text]) == 0
  assert last_line(capsys)["label"] == "de"
  target = str(folder / "exported")
  assert main(["export", run, target, "--experiment", str(task_file)]) == 0
  languages = module(task_file).Languages
  model = luke_jax.load(target, task=languages)
  assert model.architecture == "LukeForFirstWord"
  assert model.predict(["The town 8", "Die Stadt 8"]) == ["en", "de"]
  model.save(folder / "again")
  assert same_params(luke_jax.load(folder / "again", task=languages).params, model.params)
  # Without the user's file.
  assert main(["export", run, str(folder / "other")]) == 2
  assert "task.class" in capsys.readouterr().err
  with pytest.raises(InputError, match=r"LukeForFirstWord.*unknown"):
    luke_jax.load(Path(run, "model"))


@pytest.mark.slow
def test_adapters_of_a_task_of_ones_own(task_file, capsys):
  folder = task_file.parent
  run = str(folder / "run")
  changes = ("optimizer.adapter=2", "run.steps=2")
  sets = [word for change in changes for word in ("--set", change)]
  assert main(["train", str(task_file), "--output", run, *sets]) == 0
  last_line(capsys)
  adapter, backbone = f"{run}/adapter", str(folder / "start")
  text = '{"text": "Das Haus 7"}'
  assert main(["predict", str(task_file), adapter, text, "--backbone", backbone]) == 0
  found = last_line(capsys)
  assert main(["predict", str(task_file), run, text]) == 0
  assert last_line(capsys)["label"] == found["label"]


@dataclasses.dataclass(frozen=True)
class Persons(NamedEntities):
  """Named entities, of which predictions have persons only."""

  only: str = "PER"

  def decode(self, examples, features, outputs):
    """Returns the persons of each document."""
    found = super().decode(examples, features, outputs)
    return [[span for span in spans if span.label == self.only] for spans in found]


@pytest.mark.slow
def test_a_subclass_of_a_task(tmp_path):
  sentence = {"text": "Ana met Oto.", "spans": [[0, 3, "PER"], [8, 11, "PER"]]}
  other = {"text": "Ana saw Rome.", "spans": [[0, 3, "PER"], [8, 12, "LOC"]]}
  data = [sentence, other] * 8
  start = save_start(tmp_path / "start")
  settings = {"learning_rate": 1e-2, "epochs": 1, "span_words": 2, "only": "LOC"}
  model, scores, _ = luke_jax.fine_tune(Persons, start, train=data, dev=data, **settings)
  assert {span.label for span in model.predict("Ana saw Rome.")} <= {"LOC"}
  model.save(tmp_path / "model")
  saved = json.loads((tmp_path / "model" / "config.json").read_text())["luke_jax"]
  assert saved["settings"]["only"] == "LOC" and saved["class"].endswith(":Persons")
  again = luke_jax.load(tmp_path / "model", task=Persons)
  assert again.predict("Ana saw Rome.") == model.predict("Ana saw Rome.")
  with pytest.raises(InputError, match=r"made for the task .*Persons.*expected it as `task`"):
    luke_jax.load(tmp_path / "model").predict("Ana saw Rome.")
  assert set(scores) >= {"f1", "precision", "recall"}


def test_what_is_no_task():
  for task, name in ((Path, "Path"), (Path("model"), f"a {type(Path()).__name__}")):
    with pytest.raises(InputError, match=f"task {name}: no task; expected a name, such as ner, or"):
      luke_jax.fine_tune(task, "model", train=[], dev=[])


def test_a_system_of_ones_own(tmp_path, capsys):
  file, run = str(HERE / "own_system.py"), str(tmp_path / "run")
  train = ["train", file, "--output", run, "--set", "run.steps=80"]
  assert main(train) == 0
  trained = last_line(capsys)
  assert trained["status"] == "done" and trained["dev/f1"] > 0.05
  assert main(train) == 0
  assert last_line(capsys)["dev/f1"] == trained["dev/f1"]
  assert main(["predict", file, run, "Aurelio Verdano was born in Castrel."]) == 0
  predicted = last_line(capsys)
  own = load_experiment(HERE / "own_system.py")
  model = luke_jax.load(Path(run, "model"), system=type(own.model))
  assert repr(model).startswith(
    "Model(NeighboursForEntitySpanClassification)\n  system: Neighbours"
  )
  spans = model.predict("Aurelio Verdano was born in Castrel.")
  assert [span.text for span in spans] == predicted["texts"]
  model.save(tmp_path / "again")
  card = (tmp_path / "again" / "README.md").read_text()
  assert card.startswith("---\nlibrary_name: luke_jax\n")
  assert 'luke_jax.load("DIRECTORY", system=NeighboursConfig)' in card
  assert "In PyTorch: transformers has no NeighboursConfig.\n" in card
  assert "Not measured: transformers has no NeighboursConfig.\n" in card
  again = luke_jax.load(tmp_path / "again", system=type(own.model))
  assert same_params(again.params, model.params)
  with pytest.raises(InputError, match=r"model_type: 'neighbours'; .*, or one of your own"):
    luke_jax.load(tmp_path / "again")


def test_the_planner_counts_a_system_of_ones_own():
  own = load_experiment(HERE / "own_system.py")
  products = own.model.num_hidden_layers * 6 * 8 * 128 * own.model.hidden_size**2
  assert step_flops(own.backbone, TokenCounts(8, 128, 0)) == 3 * products


@pytest.mark.tpu_aot
def test_a_system_of_ones_own_compiles_for_a_slice(capsys):
  pytest.importorskip("libtpu", reason="compiling for a TPU needs the extra `tpu`")
  assert main(["plan", str(HERE / "own_system.py"), "--topology", "v5e:2x4"]) == 0
  summary = last_line(capsys)
  assert summary["chips"] == 8 and summary["steps"] == 150
  assert 0 < summary["gib_per_chip"] < 1 and 0 < summary["step_seconds"] < 0.01


@pytest.fixture
def relative(tmp_path):
  """A system of the user's own whose words have no places but those relative to others."""
  own, tokenizer = module(HERE / "own_bias.py").RelativeConfig, load_tokenizer(TOKENIZER)
  network = Network(Backbone(own(tokenizer.vocab_size, pad_token_id=tokenizer.special.pad)))
  params = jax.device_get(initial_params(network, jax.random.key(0)))
  return Model(network, params, (), tokenizer)


@pytest.mark.slow
def test_relative_positions_of_ones_own(tmp_path, relative):
  """Both texts have the same words: their order alone tells the labels."""
  labels = {"in the of": "up", "in of the": "down"}
  data = [{"text": text, "label": label} for text, label in labels.items()] * 6
  settings = {"learning_rate": 0.1, "epochs": 30, "batch_size": 12, "evaluate_every": 30}
  model, scores, _ = luke_jax.fine_tune(
    "classification", relative, train=data, dev=data, **settings
  )
  assert (scores["accuracy"], model.architecture) == (1.0, "RelativeForSequenceClassification")
  model.save(tmp_path / "model")
  again = luke_jax.load(tmp_path / "model", system=relative.system)
  assert same_params(again.params, model.params) and again.config == model.config
  found = again.predict(list(labels))
  assert [x.labels[0].label for x in found] == [*labels.values()]
  assert found == model.predict(list(labels))
  width, words = again.config.hidden_size, 64
  products = 2 * 8 * words * (5 * width**2 + 2 * words * width)
  assert step_flops(again.backbone, TokenCounts(8, words, 0)) == 3 * products


PLANNED = """

def config():
  from luke_jax.pipeline.batches import Data
  from luke_jax.tasks.classification.task import TextClassification
  from luke_jax.training.experiment import Experiment, Run

  files = {split: "%(data)s" for split in ("train", "dev")}
  task = TextClassification(**files, text="%(text)s", labels=("up", "down"), words=64)
  return Experiment(RelativeConfig(), task, data=Data(batch_size=8), run=Run(steps=9))
"""


@pytest.mark.tpu_aot
def test_relative_positions_of_ones_own_compile_for_a_slice(tmp_path, capsys):
  pytest.importorskip("libtpu", reason="compiling for a TPU needs the extra `tpu`")
  (tmp_path / "data.jsonl").write_text('{"text": "in the of", "label": "up"}\n')
  file, places = tmp_path / "planned.py", {"data": tmp_path / "data.jsonl", "text": TOKENIZER}
  file.write_text((HERE / "own_bias.py").read_text() + PLANNED % places)
  assert main(["plan", str(file), "--topology", "v5e:2x4"]) == 0
  summary = last_line(capsys)
  assert summary["chips"] == 8 and 0 < summary["gib_per_chip"] < 1


def test_a_file_edited_between_two_trainings_is_read_again(tmp_path):
  own = load_experiment(HERE / "own_system.py")
  train = Path(shutil.copy(own.task.train, tmp_path / "train.conll"))
  task = dataclasses.replace(own.task, train=str(train))
  run = dataclasses.replace(own.run, steps=1)
  own = dataclasses.replace(own, task=task, run=run)
  assert luke_jax.train(own, tmp_path / "first").summary["status"] == "done"
  train.write_text("Ana B-NOTHING\n", encoding="utf-8")
  with pytest.raises(InputError, match=r"train\.conll: line 1: .*NOTHING"):
    luke_jax.train(own, tmp_path / "second")


OWN = """
from luke_jax.tasks.classification.task import TextClassification

class Plain(TextClassification):
  pass

class Shouted(Plain):
  def check_example(self, example):
    super().check_example(example)
    if example.text.islower():
      raise ValueError("not loud enough")
"""


def test_a_class_in_a_file_is_trained_on_files_and_says_why(task_file, capsys):
  folder = task_file.parent
  own, run = folder / "shouted.py", folder / "run"
  own.write_text(OWN)
  command = ["train", str(own), "--train", str(folder / "train.jsonl"), "--output", str(run)]
  command += ["--model", str(folder / "start"), "--set", "run.steps=2", "--why"]
  assert main(command) == 0
  out = capsys.readouterr().out
  assert "task.fit_head=True" in out and "ridge regression" in out
  assert "run.epochs=" not in out  # as steps are given
  assert main(["predict", str(own), str(run), "Der Hund 7"]) == 0
  assert last_line(capsys)["label"] in ("de", "en")
  quiet = folder / "quiet.jsonl"
  quiet.write_text('{"text": "der hund", "label": "de"}\n')
  assert main([*command, "--dev", str(quiet)]) == 2
  assert "quiet.jsonl: line 1: not loud enough" in capsys.readouterr().err
  own.write_text(OWN + "class Other(TextClassification): pass\n")
  assert main(command) == 2
  assert "Shouted, Other; expected one class of TextTask" in capsys.readouterr().err


def test_installed_tasks_and_systems_are_found_by_name(tmp_path, monkeypatch):
  system = "from luke_jax.systems.bert import BertConfig\nclass LoudBert(BertConfig):\n"
  text = OWN.replace("  pass", '  name = "shouted"', 1) + system + '  name = "loud_bert"\n'
  (tmp_path / "installed_here.py").write_text(text)
  facts = tmp_path / "here-1.0.dist-info"
  facts.mkdir()
  (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: here\nVersion: 1.0\n")
  points = "[luke_jax.tasks]\nshouted = installed_here:Shouted\n"
  points += "[luke_jax.systems]\nloud_bert = installed_here:LoudBert\n"
  (facts / "entry_points.txt").write_text(points)
  monkeypatch.syspath_prepend(tmp_path)
  found = task_class("shouted")
  assert found.__name__ == "Shouted" and is_named(found)
  assert system_named("loud_bert") is system_of("loud_bert")
  assert system_of("loud_bert").__name__ == "LoudBert" and system_of("nobody") is None
  with pytest.raises(InputError, match="task 'shoutd': unknown"):
    task_class("shoutd")


@pytest.mark.parametrize("saved", [save_roberta, pytest.param(save_start, marks=pytest.mark.slow)])
def test_a_system_of_ones_own_is_given_to_fine_tune(saved, tmp_path):
  texts(tmp_path / "train.jsonl", 0)
  start = saved(tmp_path / "start")
  own = type("Own", (type(luke_jax.load(start).config),), {})
  data = str(tmp_path / "train.jsonl")
  made = luke_jax.fine_tune("classification", start, train=data, system=own, **{"run.steps": 1})
  assert type(made.model.config) is own


@pytest.mark.slow
def test_a_file_with_an_experiment_gives_its_task_and_its_system(tmp_path, capsys):
  texts(tmp_path / "train.jsonl", 0)
  own, run = tmp_path / "own.py", tmp_path / "run"
  own.write_text(
    OWN
    + """
import dataclasses
from luke_jax.models.table import SIZES
from luke_jax.runs.recipes import plain_experiment
from luke_jax.systems.bert import RobertaConfig

class OwnRoberta(RobertaConfig):
  name = "own_roberta"

def config():
  sizes = {**vars(SIZES["roberta-base"]), "hidden_size": 16, "num_attention_heads": 2}
  return dataclasses.replace(plain_experiment(Shouted), model=OwnRoberta(**sizes))
"""
  )
  start = save_roberta(tmp_path / "start")
  command = ["train", str(own), "--train", str(tmp_path / "train.jsonl"), "--model", str(start)]
  assert main([*command, "--output", str(run), "--set", "run.steps=1"]) == 0
  saved = json.loads((run / "config.json").read_text())
  assert saved["model"]["family"] == "own_roberta" and saved["task"]["class"].endswith(":Shouted")
  assert main(["predict", str(own), str(run), "Der Hund 7"]) == 0
  assert last_line(capsys)["label"] in ("de", "en")
