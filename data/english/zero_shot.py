"""Scores names with labels given at run time on sets that the model saw nothing of.

    python -m data.english.zero_shot MODEL ORIGINALS [SPLIT]

ORIGINALS is that of README.md, SPLIT test or dev. Labels are the kinds of each set in words: of
CrossNER those of types.tsv, without its misc, which says nothing. F1 is of whole names. With test,
also prints the scores on UNER's dev part, which is all that is there, and the share of FewRel's
names that are found under any of CrossNER's kinds, since they have none of their own. With dev,
also prints the settings by which scores would be shares of right answers on these sets together.
"""

import dataclasses
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from data.english.make import DOMAINS, relations, types
from data.english.make import WNUT as WNUT_FILES
from data.english.texts import read_columns
from luke_jax.files import Path as LukePath
from luke_jax.formats.files import Faults
from luke_jax.inference.predicting import asked, predictions
from luke_jax.inference.settings import Calibration, task_of
from luke_jax.model import Model, load
from luke_jax.runs.models import backbone_of, fitted, model_directory, plain, refitted
from luke_jax.tasks.calibration import Answered, calibration_error
from luke_jax.tasks.contract import TextTask
from luke_jax.tasks.evaluation import Evaluation
from luke_jax.tasks.running import checked, read_examples

OTHER = "misc"
WNUT_WORDS = {
  "corporation": "company",
  "creative-work": "creative work",
  "group": "group",
  "location": "location",
  "person": "person",
  "product": "product",
}


def sets(originals: Path, split: str) -> Iterator[tuple[str, Path, dict[str, str]]]:
  """Yields the name, the file and the labels in words of each set."""
  words = {label: wording for label, (_, wording) in types().items()}
  for domain in DOMAINS:
    file = originals / "crossner" / domain / f"{split}.txt"
    tags = {kind for sentence in read_columns(file) for _, _, kind in sentence.spans}
    yield domain, file, {label: words[label] for label in sorted(tags - {OTHER})}
  yield "wnut17", originals / "wnut17" / WNUT_FILES[split], WNUT_WORDS


def asking(model: Model, labels: dict[str, str]) -> TextTask:
  """Returns a model's task with the labels of a set."""
  return task_of(model, **asked(model, [f"{name}={wording}" for name, wording in labels.items()]))


def evaluation_of(model: Model, task: TextTask, file: Path) -> Evaluation:
  """Returns a model's evaluation on a file."""
  faults = Faults(skip=True)
  examples = checked(task, read_examples(task, str(file), faults), faults)
  return task.evaluate(examples, [spans for _, spans in predictions(model, task, examples)])


def scores(model: Model, file: Path, labels: dict[str, str]) -> dict[str, float]:
  """Returns the scores of a model on a file."""
  evaluation = evaluation_of(model, asking(model, labels), file)
  return dict(evaluation.scores) | {"calibration_error": calibration_error(evaluation.answers)}


def on_uner(model: Model, originals: Path) -> dict[str, float]:
  """Returns the scores of a model on UNER's English dev part."""
  wordings = {"PER": "person", "LOC": "location", "ORG": "organization"}
  columns = ("_", "word", "tag", "_", "_")
  task: Any = dataclasses.replace(asking(model, wordings), columns=columns)
  evaluation = evaluation_of(model, task, originals / "uner_en_ewt" / "dev.iob2")
  return dict(evaluation.scores) | {"calibration_error": calibration_error(evaluation.answers)}


def on_fewrel(model: Model, originals: Path) -> dict[str, float]:
  """Returns the share of the names of FewRel's test sentences that a model finds."""
  kinds = {wording: wording for name, (_, wording) in types().items() if name != OTHER}
  task, wanted, found = asking(model, kinds), 0, 0
  sentences = relations(originals)["test"]
  examples = [task.parse({"text": x["text"]}, str(i), "") for i, x in enumerate(sentences)]
  for sentence, (_, spans) in zip(sentences, predictions(model, task, examples), strict=True):
    bounds = {(span.start, span.end) for span in spans}
    names = [tuple(sentence[end]) for end in ("head", "tail")]
    wanted, found = wanted + len(names), found + sum(name in bounds for name in names)
  return {"names": wanted, "recall_of_names": found / wanted}


def meaning(model: Model, originals: Path, split: str) -> dict[str, float]:
  """Returns the settings by which a model's scores are shares of right answers on all sets."""
  answers: list[Answered] = []
  for _, file, labels in sets(originals, split):
    answers += evaluation_of(model, plain(asking(model, labels)), file).answers
  return refitted(task_of(model), Calibration(*(round(x, 6) for x in fitted(answers))))


def main(directory: str, originals: str, split: str = "test") -> None:
  """Prints the scores of each set in JSON, and their mean over CrossNER's domains."""
  folder = LukePath(directory)
  model = load(model_directory(folder), backbone=backbone_of(folder))
  found = {}
  for name, file, labels in sets(Path(originals), split):
    found[name] = scores(model, file, labels)
    print(json.dumps({"set": name, **{x: round(y, 4) for x, y in found[name].items()}}), flush=True)
  mean = sum(found[domain]["f1"] for domain in DOMAINS) / len(DOMAINS)
  print(json.dumps({"set": "mean of the five domains", "f1": round(mean, 4)}), flush=True)
  if split == "test":
    for name, of_set in (("uner, dev", on_uner), ("fewrel", on_fewrel)):
      line = {x: round(y, 4) for x, y in of_set(model, Path(originals)).items()}
      print(json.dumps({"set": name, **line}), flush=True)
  if split == "dev":
    print(json.dumps(meaning(model, Path(originals), split)))


if __name__ == "__main__":
  main(*sys.argv[1:])
