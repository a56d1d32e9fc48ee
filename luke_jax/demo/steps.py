"""Steps of the demo, as the commands that a user would type."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import luke_jax
from luke_jax.convert.published import ENGLISH as MINILM
from luke_jax.errors import InputError
from luke_jax.files import Path

WIKI = "data/sample_wiki"
_CHECKOUT, _PACKED = Path(luke_jax.__file__).resolve().parents[1], Path(__file__).with_name("files")
# What steps read lies in the repository; a wheel has it beside this module.
REPOSITORY = _CHECKOUT if (_CHECKOUT / WIKI).is_dir() else _PACKED
ENGLISH = "data/english/sample"
SEED = 1
# The record sizes that experiments/pretraining.py:tiny expects.
RECORD_OPTIONS = (
  *("--entities", "300", "--max-words", "48", "--max-entities", "16"),
  *("--unknown-entities", "skip"),
)
FRESH = "-not-pretrained"  # suffix of the step that trains a task from random parameters


class Step(NamedTuple):
  """Command of luke-jax, the names of the steps that it needs, and the folder that it makes.

  A step that is `long` computes on all cores, also on those that shorter ones have until they end.
  """

  name: str
  title: str
  arguments: tuple[str, ...]  # to luke-jax, which runs in the repository
  needs: tuple[str, ...] = ()
  makes: str = ""  # in the demo's folder; nothing for a file or what lies elsewhere
  long: bool = False

  @property
  def command(self) -> str:
    """Returns the command as a user would type it."""
    quoted = (f"'{x}'" if set(x) & set(" ()[]'\"") else x for x in self.arguments)
    return f"luke-jax {' '.join(quoted)}"


def check_repository() -> None:
  """Raises InputError unless the files that steps read are present."""
  for name in (WIKI, ENGLISH, "experiments/sample.py"):
    if not (REPOSITORY / name).exists():
      raise InputError(
        f"{REPOSITORY}: no {name}; expected what a wheel of luke_jax or a checkout of the"
        " repository has"
      )


def steps(folder: Path) -> list[Step]:
  """Returns all steps, each after those it needs; the longest come first."""
  if folder.is_relative_to(REPOSITORY):  # the working directory of the steps
    folder = folder.relative_to(REPOSITORY)
  return [*_english(folder), *_from_a_dump(folder)]


def _english(folder: Path) -> list[Step]:
  """Returns the steps about real English, from weights that know it."""
  fetched = [] if MINILM.is_here else [Step("english", "fetch MiniLM, 83 MB", ("get", "english"))]
  needs = tuple(step.name for step in fetched)
  train = _trained(folder, "relations", "experiments/english.py:relations-demo")
  names = f"{ENGLISH}/ner/test.jsonl"
  scored = ("evaluate", "ner", "english/ner", names, "--html", str(folder / "names.html"))
  convert = ("convert", f"{run_folder(folder, 'relations')}/model", str(folder / "pytorch"))
  return [
    *fetched,
    Step("relations", "train on relations in English", train, needs, "relations", long=True),
    Step("names", "score the names in the box", scored, needs),
    Step("pytorch", "a directory for PyTorch", convert, ("relations",), "pytorch"),
  ]


def _from_a_dump(folder: Path) -> list[Step]:
  """Returns the steps from a wiki's dump to a pretrained model and one that was fine-tuned."""
  records, model, run = folder / "records", folder / "luke", str(folder / "pretraining")
  text = records / "pretraining"
  build = ("wiki", "build", f"{WIKI}/samplewiki-pages-articles-multistream.xml.bz2")
  build += ("--tokenizer", f"{WIKI}/tokenizer", *RECORD_OPTIONS, "--output", str(records))
  pretrain = ("train", "experiments/pretraining.py:tiny", "--output", run)
  pretrain += ("--set", f"task.corpora={json.dumps([str(text)])}")
  typing, changes = "experiments/sample.py:typing", (f"task.text={text}", "run.epochs=2")
  first = _trained(folder, "typing", typing, (*changes, f"run.start={model}"))
  fresh = _trained(folder, "typing" + FRESH, typing, (*changes, "run.start=null"))
  return [
    Step("records", "wiki dump to training records", build, (), "records"),
    Step("pretraining", "pretrain a tiny LUKE", pretrain, ("records",), "pretraining"),
    Step("export", "model directory", ("export", run, str(model)), ("pretraining",), "luke"),
    Step("typing", "fine-tune: types", first, ("export",), "typing"),
    Step("typing" + FRESH, "not pretrained: types", fresh, ("records",), "typing" + FRESH),
  ]


def _trained(
  folder: Path, name: str, experiment: str, changes: Sequence[str] = ()
) -> tuple[str, ...]:
  output = ("--seeds", str(SEED), "--output", str(folder / name))
  sets = (part for change in changes for part in ("--set", change))
  return ("experiment", "run", experiment, *output, *sets)


def run_folder(folder: Path, name: str) -> Path:
  """Returns the folder of a step's run."""
  return folder / name / f"seed-{SEED}"


def result(folder: Path, name: str) -> Mapping[str, Any]:
  """Returns the result that a step's run wrote."""
  return json.loads((run_folder(folder, name) / "result.json").read_text(encoding="utf-8"))
