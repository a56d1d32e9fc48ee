"""The steps of the demo, and its HTML report: what models read, what was pretrained."""

import json
import os
import random
import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import luke_jax
from luke_jax import english, show
from luke_jax.convert.published import ENGLISH as MINILM
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.runs.steps import LOGS, Step, Where, last_line

if TYPE_CHECKING:
  from luke_jax.model import Model

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
COMPILED = "compiled"  # XLA's cache, since half of the programs occur in two steps
FRESH = "-not-pretrained"  # suffix of the step that trains a task from random parameters


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


def where(folder: Path) -> Where:
  """Returns the place in which all steps of a folder run."""
  return Where(
    REPOSITORY,
    {
      "JAX_COMPILATION_CACHE_DIR": str(folder / COMPILED),
      "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
      # An accelerator gains nothing with such small models, and two processes cannot share one.
      "JAX_PLATFORMS": "cpu",
      # Memory of large arrays is kept for the next step; the system would clear it each time.
      "MALLOC_MMAP_MAX_": "0",
      "MALLOC_TRIM_THRESHOLD_": "100000000000",
      # At this level compiling takes a third less time, and the programs are as fast.
      "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} --xla_backend_optimization_level=1",
    },
  )


JOINED = "\0"  # stands for a space at which a line must not be broken
COLUMNS = 80  # at most, in the lines of a command


class Score(NamedTuple):
  """A model's score on a test, in percent."""

  step: str
  model: str
  on: str
  metric: str
  score: float
  seconds: float  # of the step


def scores(folder: Path, seconds: Mapping[str, float]) -> list[Score]:
  """Returns the rows of the table of scores; `seconds` are those of the steps."""
  names = json.loads(last_line(folder / LOGS / "names.txt"))["f1"]
  relations = result(folder, "relations")["scores"]["test"]["accuracy"]
  first, fresh = (typing_f1(folder, name) for name in ("typing", "typing" + FRESH))
  rows = [
    ("names", "english/ner, in the box", "120 sentences of CrossNER", "F1 of names", names),
    ("relations", "relations, trained here", "320 sentences of FewRel", "accuracy", relations),
    ("typing", "types, pretrained here", "an invented world", "loose micro F1", first),
    ("typing" + FRESH, "types, not pretrained", "an invented world", "loose micro F1", fresh),
  ]
  return [
    Score(step, model, on, metric, 100 * score, seconds[step])
    for step, model, on, metric, score in rows
  ]


def report(
  folder: Path, steps: Sequence[Step], seconds: Mapping[str, float], text: str
) -> show.Picture:
  """Returns the page on everything that the demo made; `text` is the user's, or empty."""
  sections = [
    *english_sections(folder, text, random.Random()),
    invented_section(folder),
    show.Section("What was run", _commands(steps, seconds), folded=True),
  ]
  introduction = (
    "Four small models read English here: three that come with luke_jax, and one that was trained"
    " while this page was made. All are adapters of MiniLM, a small BERT. The last part shows"
    " pretraining, on a world small enough to be read in a minute."
  )
  return show.report("luke_jax reads English", sections, introduction)


def _commands(steps: Sequence[Step], seconds: Mapping[str, float]) -> list[str | show.Picture]:
  commands = [
    f"# {step.title}: {seconds[step.name]:.0f} s\n{_on_lines(step.command)}" for step in steps
  ]
  return ["In the folder of the repository:", show.code("\n\n".join(commands))]


def _on_lines(command: str) -> str:
  """Returns a command broken into lines, with every option beside its value."""
  unbroken = re.sub(" (?!--)", JOINED, command)
  lines = textwrap.wrap(unbroken, COLUMNS, break_long_words=False, break_on_hyphens=False)
  return " \\\n  ".join(lines).replace(JOINED, " ")


# Read by the models in the box, unless the user gives a text.
READ = (
  "Irène Joliot-Curie was the daughter of Marie Curie, who was born in Warsaw and taught physics at"
  " the University of Paris."
)
QUESTION = "What did Marie Curie teach?"
DRAWN = {"ner": 2, "relations": 2}  # sentences of a test file
Parts = list[str | show.Picture]


def english_sections(folder: Path, text: str, chosen: random.Random) -> list[show.Section]:
  """Returns the sections on English; `text` is the user's, or empty."""
  models = {task: luke_jax.load(f"{english.NAME}/{task}") for task in ("ner", "typing", "qa")}
  trained = luke_jax.load(run_folder(folder, "relations") / "model")
  return [
    show.Section("A sentence", sentence(models, trained, text or READ)),
    show.Section("Names in sentences drawn at random", _drawn_names(models["ner"], chosen)),
    show.Section("Relations, trained just now", _relations(folder, trained, chosen)),
  ]


def sentence(models: "Mapping[str, Model]", relations: "Model", text: str) -> Parts:
  """Returns all that is read in a text: names, their types, a relation, and an answer."""
  names = models["ner"].predict(text)
  spans = [(name.start, name.end) for name in names]
  types = models["typing"].predict([text] * len(spans), span=spans) if spans else []
  kinds = [span for of_name in types for span in of_name[:1]]
  parts: Parts = [show.entities(text, [*names, *kinds])]
  if len(spans) > 1:
    relation = relations.predict(text, head=spans[0], tail=spans[1])
    parts += [
      "Of the sixteen relations that it knows, the one that fits the first two names best:",
      show.relations(text, relation),
    ]
  if text == READ:
    answers = models["qa"].predict(text, question=QUESTION)
    parts.append(show.answers(text, QUESTION, answers, count=2))
  return parts


def _drawn_names(model: "Model", chosen: random.Random) -> Parts:
  parts: Parts = [
    "From the test part of CrossNER: ✓ right, ✗ wrong; what was missed says so. names.html, beside"
    " this page, has the mistakes in all 120."
  ]
  for example in _drawn("ner", chosen):
    spans = model.predict(example["text"])
    parts.append(show.entities(example["text"], spans, gold=example["spans"]))
  return parts


def _relations(folder: Path, model: "Model", chosen: random.Random) -> Parts:
  accuracy = 100 * result(folder, "relations")["scores"]["test"]["accuracy"]
  parts: Parts = [
    f"Sixteen relations of FewRel, learnt from 2,400 sentences: {accuracy:.0f} % of 320 others are"
    " right, where one relation for all would get 6 %.",
    show.curves(run_folder(folder, "relations"), metrics=["loss"]),
  ]
  for example in _drawn("relations", chosen):
    relation = model.predict(example["text"], head=example["head"], tail=example["tail"])
    parts += [show.relations(example["text"], relation), verdict(relation.label, example["label"])]
  return parts


def verdict(predicted: str, expected: str) -> str:
  """Returns whether a prediction is right, and what was expected where it is not."""
  return "✓ right" if predicted == expected else f"✗ wrong; expected: {expected}"


def _drawn(task: str, chosen: random.Random) -> Sequence[Mapping[str, Any]]:
  """Returns some examples of a test file, others each time."""
  path = REPOSITORY / ENGLISH / task / "test.jsonl"
  lines = path.read_text(encoding="utf-8").splitlines()
  return [json.loads(line) for line in chosen.sample(lines, DRAWN[task])]


PRETRAINING = ("word_loss", "entity_accuracy")


def invented_section(folder: Path) -> show.Section:
  """Returns the section on a LUKE pretrained on the sample wiki."""
  first, fresh = (100 * typing_f1(folder, name) for name in ("typing", "typing" + FRESH))
  parts: list[str | show.Picture] = [
    "A wiki of an invented world, from its dump to records, and a LUKE of two layers that learns to"
    " fill in masked words and masked entities.",
    show.curves(folder / "pretraining", metrics=PRETRAINING),
    f"Fine-tuned to type names, it has a loose micro F1 of {first:.0f}; without pretraining"
    f" {fresh:.0f}. One seed: a few points either way are chance.",
  ]
  return show.Section("LUKE from a dump", parts)


def typing_f1(folder: Path, name: str) -> float:
  """Returns the loose micro F1 of a run on the test file."""
  return result(folder, name)["scores"]["test"]["f1"]
