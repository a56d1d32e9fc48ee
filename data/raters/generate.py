"""Writes reviews whose rating is not in their text: python -m data.raters.generate FOLDER.

FOLDER gets train, dev and test files of reviews and the vocabulary of their words. The rating is
what the text says, from 1 to 4, and one more if its user is generous; half of the users are.
"""

import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SEED = 1
USERS, PRODUCTS = 40, 20
REVIEWS = {"train": 3000, "dev": 400, "test": 1000}
# What the text says: each word of a row means the same.
OPINIONS = (
  ("awful", "horrid", "dreadful"),
  ("dull", "weak", "bland"),
  ("nice", "pleasant", "good"),
  ("superb", "perfect", "brilliant"),
)
THINGS = ("soup", "room", "film", "story", "music", "coffee", "garden", "service")
# What is said beside the opinion and has none.
ASIDES = (
  "we came on a sunday",
  "it was my second time",
  "a friend told me of it",
  "the street was quiet",
  "they have a blue door",
)
FORMS = ("the {thing} was {opinion}", "what {opinion} {thing}", "i found the {thing} {opinion}")
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


class Review(NamedTuple):
  """A line of a file."""

  user: str
  product: str
  rating: int
  text: str


def generous(user: int) -> bool:
  """Returns whether a user adds one to each rating."""
  return user % 2 == 1


def reviews(count: int, rng: random.Random) -> Iterator[Review]:
  """Yields reviews of users, products and opinions that are drawn apart from each other."""
  for _ in range(count):
    user, product = rng.randrange(USERS), rng.randrange(PRODUCTS)
    opinion = rng.randrange(len(OPINIONS))
    said = rng.choice(FORMS).format(thing=rng.choice(THINGS), opinion=rng.choice(OPINIONS[opinion]))
    sentences = [said, *rng.sample(ASIDES, rng.randrange(3))]
    rng.shuffle(sentences)
    rating = 1 + opinion + generous(user)
    text = " <sssss> ".join(f"{sentence} ." for sentence in sentences)
    yield Review(f"user{user:02}", f"product{product:02}", rating, text)


def words() -> list[str]:
  """Returns all words of the reviews, in alphabetical order."""
  texts = (*FORMS, *ASIDES, *THINGS, *(word for row in OPINIONS for word in row), ".")
  return sorted({word for text in texts for word in text.split() if "{" not in word})


def main(folder: Path) -> None:
  """Writes everything, always the same bytes."""
  folder.mkdir(parents=True, exist_ok=True)
  rng = random.Random(SEED)
  for split, count in REVIEWS.items():
    lines = ("\t\t".join(map(str, review)) + "\n" for review in reviews(count, rng))
    (folder / f"{split}.ss").write_text("".join(lines), encoding="utf-8")
  pieces = "".join(f"{piece}\n" for piece in (*SPECIAL, *words()))
  (folder / "vocab.txt").write_text(pieces, encoding="utf-8")


if __name__ == "__main__":
  if len(sys.argv) != 2:
    sys.exit(__doc__)
  main(Path(sys.argv[1]))
