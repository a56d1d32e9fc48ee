"""Writes the hard questions as a file that the task qa reads.

    python -m data.hard_questions.make ORIGINALS [FOLDER]

Writes qa/hard_test.json of FOLDER, datasets/english unless it is given, in the form of SQuAD 2.0,
with the passages of ORIGINALS/squad/dev-v1.1.json. The kind of a question begins its id.
"""

import sys
from pathlib import Path

from data.english.asked import passages_of, read, write

QUESTIONS = Path(__file__).parent / "questions.tsv"


def main(originals: Path, folder: Path) -> None:
  """Writes the file and prints how many questions it has."""
  rows = {f"{row['kind']}-{number}": row for number, row in enumerate(read(QUESTIONS))}
  write(rows, passages_of(originals), folder / "qa" / "hard_test.json")


if __name__ == "__main__":
  if len(sys.argv) not in (2, 3):
    sys.exit(__doc__)
  main(Path(sys.argv[1]), Path((sys.argv[2:] or ["datasets/english"])[0]))
