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


def main(originals: Path, folder: Path) -> None:
  """Writes both files and prints how many questions they have."""
  squad = json.loads((originals / "squad" / "dev-v1.1.json").read_text(encoding="utf-8"))
  passages = [p["context"] for article in squad["data"] for p in article["paragraphs"]]
  with ASKED.open(encoding="utf-8", newline="") as lines:
    rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
  for split in ("dev", "test"):
    paragraphs = []
    for number, row in enumerate(rows):
      if row["split"] == split:
        (text,) = {x for x in passages if x.startswith(row["passage begins"])}
        paragraphs.append({"context": text, "qas": [question_of(row, text, f"asked-{number}")]})
    path = folder / "qa" / f"asked_{split}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    value = {"version": "v2.0", "data": [{"title": "asked", "paragraphs": paragraphs}]}
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    answered = sum(not p["qas"][0]["is_impossible"] for p in paragraphs)
    print(f"{path}: {answered} with an answer, {len(paragraphs) - answered} without")


def question_of(row: dict[str, str], text: str, id: str) -> dict[str, object]:
  """Returns a row as SQuAD has questions; its answer has to be in the text."""
  answer = row["answer"]
  answers = [{"text": answer, "answer_start": text.index(answer)}] if answer else []
  asked = {"id": id, "question": row["question"], "answers": answers}
  return asked | {"is_impossible": not answer}


if __name__ == "__main__":
  if len(sys.argv) not in (2, 3):
    sys.exit(__doc__)
  main(Path(sys.argv[1]), Path((sys.argv[2:] or ["datasets/english"])[0]))
