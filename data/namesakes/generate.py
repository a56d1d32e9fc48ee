"""Writes the dump and the questions: python -m data.namesakes.generate FOLDER.

FOLDER gets a MediaWiki dump whose pages say what each thing is, and train, dev and test files of
questions about passages that say nothing of it: only who knows the linked things can answer.
"""

import json
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from data.sample_wiki.dump import Wiki, write_dump
from data.sample_wiki.extras import Page
from data.sample_wiki.generate import NAMESPACES

from .world import COUNTRIES, COUNTRY, KINDS, PLAIN, SEED, Thing, things

WIKI = Wiki("en", "namesakeswiki", "Namesakes", "Main_Page", NAMESPACES)
PAGES, SENTENCES = 300, 40  # without those that links need
CHOICES = 4  # of a question
QUESTIONS = {"train": 3000, "dev": 150, "test": 400}
TESTED = 0.3  # share of the things that only dev and test ask about
PASSAGES = ("About {}:", "The paper wrote about {}:", "{} was mentioned:", "A letter names {}:")


def pages(all_things: Sequence[Thing], rng: random.Random) -> Iterator[Page]:
  """Yields a page for each thing and country, and pages of sentences about any of them."""
  for thing in all_things:
    yield _page(thing.title, [PLAIN[0].format(f"'''{thing.name}'''", thing.kind)])
  for country in COUNTRIES:
    yield _page(country, [f"'''{country}''' is a country."])
  for number in range(PAGES):
    yield _page(
      f"Notes {number}", [sentence(rng.choice(all_things), rng) for _ in range(SENTENCES)]
    )


def _page(title: str, sentences: Sequence[str]) -> Page:
  return Page(title, 0, " ".join(sentences))


def sentence(thing: Thing, rng: random.Random) -> str:
  """Returns a sentence that says a thing's kind or its country, with links."""
  name, country = f"[[{thing.title}|{thing.name}]]", f"[[{thing.country}]]"
  if rng.random() < 0.5:
    return rng.choice(COUNTRY).format(name, country)
  return rng.choice((*PLAIN, *KINDS[thing.kind])).format(name, thing.kind)


def questions(some: Sequence[Thing], count: int, rng: random.Random) -> Iterator[dict[str, Any]]:
  """Yields questions of the kind or the country of a thing, with some of them to choose from."""
  for _ in range(count):
    thing, about = rng.choice(some), rng.choice(("kind", "country"))
    answer = getattr(thing, about)
    others = [x for x in (KINDS if about == "kind" else COUNTRIES) if x != answer]
    choices = [answer, *rng.sample(others, CHOICES - 1)]
    rng.shuffle(choices)
    before = rng.choice(PASSAGES)
    text = before.format(thing.name) + " " + ", ".join(choices) + "."
    start, place = before.index("{}"), text.rindex(answer)
    yield {
      "text": text,
      "question": f"Which {about}?",
      "entities": [[start, start + len(thing.name), thing.title]],
      "answers": [[place, place + len(answer)]],
    }


def main(folder: Path) -> None:
  """Writes everything, always the same bytes."""
  folder.mkdir(parents=True, exist_ok=True)
  rng, all_things = random.Random(SEED), things()
  write_dump(folder / "namesakeswiki", WIKI, list(pages(all_things, rng)))
  shuffled = rng.sample(all_things, len(all_things))
  tested = round(TESTED * len(shuffled))
  for split, count in QUESTIONS.items():
    some = shuffled[tested:] if split == "train" else shuffled[:tested]
    lines = (json.dumps(x) + "\n" for x in questions(some, count, rng))
    (folder / f"{split}.jsonl").write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
  if len(sys.argv) != 2:
    sys.exit(__doc__)
  main(Path(sys.argv[1]))
