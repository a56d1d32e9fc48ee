"""Adds dates and numbers where people marked only names: python -m data.english.timed MODEL.

Writes datasets/english/ner/train_timed.jsonl and dev_timed.jsonl: the sentences of train.jsonl and
dev.jsonl with the TIME and NUM that MODEL finds outside of the names that people marked. MODEL is a
run of experiments/english.py:ner-box that learned from train_redocred.jsonl alone, or english/ner.
"""

import json
import sys
from pathlib import Path

import luke_jax

FOLDER = Path("datasets/english/ner")
KINDS = ("TIME", "NUM")  # added
LEAST = 0.5  # score, as MODEL computes it


def main(model: str) -> None:
  """Writes the files, and prints how many dates and numbers they have."""
  names = luke_jax.load(model)
  for split in ("train", "dev"):
    lines = (FOLDER / f"{split}.jsonl").read_text(encoding="utf-8").splitlines()
    examples = [x for x in map(json.loads, lines) if max(map(len, x["text"].split())) < 60]
    added = 0
    answers = names.predict([x["text"] for x in examples], labels=KINDS)
    for x, found in zip(examples, answers, strict=True):
      new = [
        [y.start, y.end, y.label]
        for y in found
        if y.score >= LEAST
        and all(y.end <= start or end <= y.start for start, end, _ in x["spans"])
      ]
      x["spans"], added = sorted(x["spans"] + new), added + len(new)
    written = (json.dumps(x, ensure_ascii=False) + "\n" for x in examples)
    (FOLDER / f"{split}_timed.jsonl").write_text("".join(written), encoding="utf-8")
    print(f"{split}: {len(examples):,} sentences, {added:,} dates and numbers")


if __name__ == "__main__":
  if len(sys.argv) != 2:
    sys.exit((__doc__ or "").partition("\n")[0])
  main(sys.argv[1])
