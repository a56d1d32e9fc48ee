"""Texts with a label for few.py: domains of CrossNER's sentences, topics of SIB-200's, and reviews.

    python benchmarks/own_data/files.py ../shared/data datasets/own_data

The first folder has those of CrossNER, of SIB-200 and of fine food as data/english/README.md and
CONTRIBUTING.md name them. What is not there is left out.
"""

import csv
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path

DOMAINS = ("ai", "literature", "music", "politics", "science")
TOPICS, REVIEWS = "siblings/zh_cls/sib200_zho_Hans", "siblings/reviews/fine_food_1k"
IN_POOL = 40  # reviews of each kind
Example = dict[str, str]


def sentences(file: Path) -> Iterator[str]:
  """Yields the sentences of a file of columns."""
  for block in file.read_text(encoding="utf-8").split("\n\n"):
    if block.strip():
      yield " ".join(line.split()[0] for line in block.splitlines() if line.strip())


def domains(folder: Path) -> tuple[list[Example], list[Example]]:
  """Returns CrossNER's training and development sentences, and 1,000 of its test sentences."""
  parts: dict[str, list[Example]] = {}
  for domain in DOMAINS:
    for split in ("train", "dev", "test"):
      rows = [{"text": x, "label": domain} for x in sentences(folder / domain / f"{split}.txt")]
      parts.setdefault(split, []).extend(rows)
  return parts["train"] + parts["dev"], random.Random(0).sample(parts["test"], 1000)


def topics(folder: Path) -> tuple[list[Example], list[Example]]:
  """Returns 300 texts of SIB-200's training and development parts, and the other 500."""
  rows = []
  for split in ("train", "dev"):
    with (folder / f"{split}.tsv").open(encoding="utf-8") as file:
      read = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
      rows += [{"text": row["text"], "label": row["category"]} for row in read]
  random.Random(0).shuffle(rows)
  return rows[:300], rows[300:]


def reviews(folder: Path) -> tuple[list[Example], list[Example]]:
  """Returns forty reviews of one and two stars and as many of four and five, and the rest."""
  lines = "".join(x.read_text(encoding="utf-8") for x in sorted(folder.glob("*.ss"))).splitlines()
  rows: dict[str, list[Example]] = {"good": [], "poor": []}
  for line in lines:
    *_, stars, text = line.split("\t\t")
    if stars != "3":
      kind = "good" if stars in "45" else "poor"
      rows[kind].append({"text": text.replace(" <sssss>", ""), "label": kind})
  good, poor = (random.Random(0).sample(x, len(rows["poor"])) for x in rows.values())
  return good[:IN_POOL] + poor[:IN_POOL], good[IN_POOL:] + poor[IN_POOL:]


def main(data: Path, target: Path) -> None:
  """Writes two files for each set that is there."""
  target.mkdir(parents=True, exist_ok=True)
  known = {"domains": (domains, data / "crossner"), "topics": (topics, data / TOPICS)}
  known["reviews"] = reviews, data / REVIEWS
  for name, (make, folder) in known.items():
    if folder.is_dir():
      for part, rows in zip(("pool", "test"), make(folder), strict=True):
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
        (target / f"{name}.{part}.jsonl").write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
  main(Path(sys.argv[1]), Path(sys.argv[2]))
