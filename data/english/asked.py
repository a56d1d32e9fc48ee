"""Questions that people ask of a passage, half of them without an answer in it.

    python -m data.english.asked ORIGINALS [FOLDER]

Writes qa/asked_dev.json and qa/asked_test.json of FOLDER, datasets/english unless it is given, in
the form of SQuAD 2.0. The questions of asked.tsv were written by hand, over passages of the
articles that data.english.unanswerable takes for dev and data.english.make for test: what somebody
would ask next who has read the passage, whether it says so or not.
"""

import csv
import json
import sys
from pathlib import Path

ASKED = Path(__file__).parent / "asked.tsv"

Row = dict[str, str]


def main(originals: Path, folder: Path) -> None:
  """Writes both files and prints how many questions they have."""
  passages = passages_of(originals)
  rows = read(ASKED)
  for split in ("dev", "test"):
    numbered = {f"asked-{number}": x for number, x in enumerate(rows) if x["split"] == split}
    write(numbered, passages, folder / "qa" / f"asked_{split}.json")


def passages_of(originals: Path) -> list[str]:
  """Returns all passages of SQuAD's development set."""
  squad = json.loads((originals / "squad" / "dev-v1.1.json").read_text(encoding="utf-8"))
  return [p["context"] for article in squad["data"] for p in article["paragraphs"]]


def read(path: Path) -> list[Row]:
  """Returns the rows of a table of questions."""
  with path.open(encoding="utf-8", newline="") as lines:
    return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def write(rows: dict[str, Row], passages: list[str], path: Path) -> None:
  """Writes rows by their ids as SQuAD 2.0 and prints how many have an answer."""
  paragraphs = []
  for id, row in rows.items():
    (text,) = {x for x in passages if x.startswith(row["passage begins"])}
    paragraphs.append({"context": text, "qas": [question_of(row, text, id)]})
  path.parent.mkdir(parents=True, exist_ok=True)
  value = {"version": "v2.0", "data": [{"title": "asked", "paragraphs": paragraphs}]}
  path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
  answered = sum(not p["qas"][0]["is_impossible"] for p in paragraphs)
  print(f"{path}: {answered} with an answer, {len(paragraphs) - answered} without")


def question_of(row: Row, text: str, id: str) -> dict[str, object]:
  """Returns a row as SQuAD has questions; its answer has to be in the text."""
  answer = row["answer"]
  answers = [{"text": answer, "answer_start": text.index(answer)}] if answer else []
  asked = {"id": id, "question": row["question"], "answers": answers}
  return asked | {"is_impossible": not answer}


if __name__ == "__main__":
  if len(sys.argv) not in (2, 3):
    sys.exit(__doc__)
  main(Path(sys.argv[1]), Path((sys.argv[2:] or ["datasets/english"])[0]))
