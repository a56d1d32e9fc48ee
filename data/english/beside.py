"""Compares names of other tools with gold, on equal terms.

    python -m data.english.beside spacy MODEL TEXTS PREDICTED    # needs spaCy and MODEL
    luke-jax predict ner english/ner TEXTS --output PREDICTED
    python -m data.english.beside score TEXTS PREDICTED

TEXTS are lines of JSON with `text` and gold `spans`. Persons, places and organizations are counted,
with exact boundaries, but for a leading "the", which is left out on both sides.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

KINDS = ("PER", "LOC", "ORG")
SPACY = {"PERSON": "PER", "GPE": "LOC", "LOC": "LOC", "FAC": "LOC", "ORG": "ORG"}

Example = Mapping[str, list]


def read(path: Path) -> list[Example]:
  """Returns the lines of a file."""
  return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def spans(text: str, found: Sequence[Sequence]) -> set[tuple[int, int, str]]:
  """Returns the spans that are counted, without a leading "the"."""
  return {
    (start + 4 * text[start:end].lower().startswith("the "), end, label)
    for start, end, label in found
    if label in KINDS
  }


def f1(gold: Sequence[Example], predicted: Sequence[Example]) -> float:
  """Returns the F1 of the predicted spans."""
  right = total = 0
  for one, other in zip(gold, predicted, strict=True):
    wanted, given = (spans(str(one["text"]), x["spans"]) for x in (one, other))
    right, total = right + 2 * len(wanted & given), total + len(wanted) + len(given)
  return right / max(total, 1)


def predict_with_spacy(model: str, texts: Path, output: Path) -> None:
  """Writes the names that a pipeline of spaCy finds."""
  import spacy

  pipeline = spacy.load(model)
  documents = pipeline.pipe(example["text"] for example in read(texts))
  found = (
    [[x.start_char, x.end_char, SPACY[x.label_]] for x in document.ents if x.label_ in SPACY]
    for document in documents
  )
  lines = (json.dumps({"spans": names}) + "\n" for names in found)
  output.write_text("".join(lines), encoding="utf-8")


def main(task: str, *arguments: str) -> None:
  """Runs one of the two."""
  if task == "spacy":
    predict_with_spacy(arguments[0], *map(Path, arguments[1:]))
  else:
    gold, predicted = map(read, map(Path, arguments))
    print(f"{100 * f1(gold, predicted):.1f}")


if __name__ == "__main__":
  if (sys.argv[1:2], len(sys.argv)) not in ((["spacy"], 5), (["score"], 4)):
    sys.exit(__doc__)
  main(*sys.argv[1:])
