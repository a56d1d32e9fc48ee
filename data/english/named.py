"""Adds the names that english/ner finds to the questions: python -m data.english.named [FOLDER].

Reads qa/train.json and qa/test.json of FOLDER, datasets/english unless it is given, and writes
named_train.jsonl and named_test.jsonl beside them, for a LUKE: a name is a `[MASK]` entity. A
quarter of an hour of one CPU core.
"""

import json
import sys
from pathlib import Path

import luke_jax
from luke_jax.formats.files import Faults
from luke_jax.formats.records import to_json
from luke_jax.model import Model
from luke_jax.tasks.qa.files import read
from luke_jax.text.tokenizer import MASK


def write(model: Model, source: Path, target: Path) -> int:
  """Writes the examples of a file with their names; returns how many names their texts have."""
  examples = read(source, Faults())
  texts = list(dict.fromkeys(text for x in examples for text in (x.text, x.question)))
  found = {
    text: [[name.start, name.end, MASK] for name in names]
    for text, names in zip(texts, model.predict(texts), strict=True)
  }
  with target.open("w", encoding="utf-8") as file:
    for x in examples:
      names = {"entities": found[x.text], "question_entities": found[x.question]}
      file.write(json.dumps(to_json(x) | names, ensure_ascii=False) + "\n")
  return sum(map(len, found.values()))


def main(folder: Path) -> None:
  """Writes both files and prints how many names they have."""
  model = luke_jax.load("english/ner")
  for split in ("test", "train"):
    target = folder / f"named_{split}.jsonl"
    print(f"{target}: {write(model, folder / f'{split}.json', target):,} names", flush=True)


if __name__ == "__main__":
  if len(sys.argv) > 2:
    sys.exit(__doc__)
  main(Path((sys.argv[1:] or ["datasets/english"])[0]) / "qa")
