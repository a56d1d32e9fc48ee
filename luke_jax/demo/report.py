"""HTML report at the end of the demo."""

import itertools
import json
import re
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import luke_jax
from luke_jax import show
from luke_jax.demo import texts
from luke_jax.demo.running import LOGS, last_line
from luke_jax.demo.steps import FRESH, REPOSITORY, TPU, Step, result, run_folder
from luke_jax.demo.texts import place
from luke_jax.doctor.packages import optional_parts
from luke_jax.tasks.known import CLASSES

SHOWN, SHORT = 3, 250  # examples of a task, characters of their passages
JOINED = "\0"  # stands for a space at which a line must not be broken
COLUMNS = 80  # at most, in the lines of a command
FROM_TEST = "The first three of the test file."
OWN = "Written for this page; it is in no file."
PRETRAINING = ("word_loss", "entity_loss", "word_accuracy", "entity_accuracy")
# The metric that the paper reports for each task, and its name in the table.
METRICS = {
  "typing": ("f1", "loose micro F1"),
  "relations": ("f1", "micro F1"),
  "ner": ("f1", "F1 of spans"),
  "cloze": ("exact_match", "exact match"),
  "qa": ("exact_match", "exact match"),
}


class TaskScore(NamedTuple):
  """Scores of a task on its test file, in percent, and the seconds it took."""

  task: str
  metric: str
  score: float
  not_pretrained: float
  seconds: float


def rows(folder: Path, seconds: Mapping[str, float]) -> list[TaskScore]:
  """Returns the rows of the table of tasks; `seconds` are those of the steps."""
  return [_row(folder, task, seconds[task]) for task in CLASSES]


def _row(folder: Path, task: str, seconds: float) -> TaskScore:
  metric, label = METRICS[task]
  score, not_pretrained = (
    100 * result(folder, name)["scores"]["test"][metric] for name in (task, task + FRESH)
  )
  return TaskScore(task, label, score, not_pretrained, seconds)


def report(folder: Path, steps: Sequence[Step], seconds: Mapping[str, float]) -> show.Picture:
  """Returns the report on everything that the demo made."""
  models = {task: luke_jax.load(run_folder(folder, task) / "model") for task in CLASSES}
  pretrained = luke_jax.load(folder / "luke")
  sections = [
    show.Section("Five tasks", _tasks(rows(folder, seconds))),
    show.Section("Pretraining", _curves(folder)),
    show.Section("Named entities", _names(models["ner"])),
    show.Section("Entity types", _types(models["typing"])),
    show.Section("Relations", _relations(models["relations"])),
    show.Section("Cloze", _gaps(models["cloze"])),
    show.Section("Questions", _questions(models["qa"])),
    show.Section("Attention", _attention(pretrained)),
    show.Section("Similar entities", _alike(pretrained)),
    show.Section("On TPUs", _tpu(folder, "plan" in seconds)),
    show.Section("What was run", _commands(steps, seconds)),
  ]
  introduction = (
    "A tiny LUKE, two layers deep, was pretrained on a small invented wiki and then fine-tuned for"
    " five tasks, by the commands at the end of this page; the predictions on it were computed as"
    " the page was made. So small a model, trained for minutes, is often wrong: the page shows what"
    " luke_jax can show, not how well LUKE does."
  )
  return show.report("LUKE in JAX: a demo", sections, introduction)


def _tasks(rows: Sequence[TaskScore]) -> list[str | show.Picture]:
  header = ("task", "metric", "score", "not pretrained", "seconds")
  cells = [
    (x.task, x.metric, round(x.score, 1), round(x.not_pretrained, 1), round(x.seconds))
    for x in rows
  ]
  note = (
    "Percent, on test files that no model was trained on; a fifth of them about entities that no"
    " page and no training text names. One seed, one minute and some hundred examples each: a few"
    " points either way are chance. experiments/results.md has three seeds of what takes longer."
    " Seconds are those of fine-tuning and scoring, without pretraining."
  )
  return [show.table(header, cells), note]


def _curves(folder: Path) -> list[str | show.Picture]:
  runs = {task: run_folder(folder, task) for task in CLASSES}
  return [
    "Masked words and masked entities are predicted from their surroundings.",
    show.curves(folder / "pretraining", metrics=PRETRAINING),
    "Fine-tuning for each task, from what pretraining made.",
    show.curves(runs, metrics=["loss"]),
  ]


def _names(model: Any) -> list[str | show.Picture]:
  expected = ", ".join(f"{name} ({label})" for name, label in texts.NAMED)
  picture = show.entities(texts.NAMES, model.predict(texts.NAMES))
  return [OWN, picture, f"Expected: {expected}."]


def _types(model: Any) -> list[str | show.Picture]:
  parts: list[str | show.Picture] = [OWN]
  for text, name, expected in texts.TYPED:
    predictions = model.predict(text, span=place(text, name))
    parts += [show.entities(text, predictions), f"Expected: {expected}."]
  return parts


def _relations(model: Any) -> list[str | show.Picture]:
  parts: list[str | show.Picture] = [FROM_TEST]
  for example in _test("relations", lambda example: example["label"] != "no_relation"):
    relation = model.predict(example["text"], head=example["head"], tail=example["tail"])
    parts += [show.relations(example["text"], [relation]), f"Expected: {example['label']}."]
  return parts


def _gaps(model: Any) -> list[str | show.Picture]:
  return _answered(model, "cloze", "query", ("query", "entities"))


def _questions(model: Any) -> list[str | show.Picture]:
  return _answered(model, "qa", "question", ("question", "entities", "question_entities"))


def _answered(
  model: Any, task: str, question: str, names: Sequence[str]
) -> list[str | show.Picture]:
  parts: list[str | show.Picture] = [FROM_TEST]
  for example in _test(task, lambda example: len(example["text"]) < SHORT):
    text = example["text"]
    predictions = model.predict(text, **{name: example[name] for name in names})
    expected = {text[start:end] for start, end in example["answers"]}
    parts += [show.answers(text, example[question], predictions, count=3)]
    parts += [f"Expected: {' or '.join(sorted(expected))}."]
  return parts


def _test(task: str, shown: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
  """Returns the first examples of a test file for which `shown` is true."""
  lines = (REPOSITORY / f"data/sample_tasks/{task}/test.jsonl").read_text(encoding="utf-8")
  examples = map(json.loads, lines.splitlines())
  return list(itertools.islice(filter(shown, examples), SHOWN))


def _attention(model: Any) -> list[str | show.Picture]:
  note = (
    "Words and entities attend to each other. LUKE has a query of its own for each of the four"
    " kinds of pairs; each row is an attending token, each column a token that it attends to."
  )
  spans = [place(texts.ATTENDED, name) for name in ("Aurelio Verdano", "A Grammar of Rain")]
  return [note, show.attention(model, texts.ATTENDED, spans)]


def _alike(model: Any) -> list[str | show.Picture]:
  vocabulary = model.processor.entity_vocab.ids
  return [show.nearest(model, [title for title in texts.ALIKE if title in vocabulary])]


def _tpu(folder: Path, planned: bool) -> list[str | show.Picture]:
  if not planned:
    return [f"Not compiled, because libtpu is missing: {tpu_command()}"]
  plan = json.loads(last_line(folder / LOGS / "plan.txt"))
  note = (
    f"The training step of LUKE-large's pretraining, compiled for {plan['chips']} chips ({TPU}) by"
    " the TPU's own compiler, without a chip."
  )
  figures = [
    ("memory of a chip", f"{plan['gib_per_chip']:.1f} GiB"),
    ("a step", f"{1000 * plan['step_seconds']:.0f} ms"),
    ("steps", f"{plan['steps']:,}"),
    ("the whole run", f"{plan['hours']:.0f} hours"),
  ]
  return [note, show.table(("", "according to the compiler"), figures)]


def tpu_command() -> str:
  """Returns the command that installs libtpu."""
  return next(x.command for x in optional_parts(sys.executable) if x.name == "tpu")


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
