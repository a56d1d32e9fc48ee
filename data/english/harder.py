"""Adds questions that are hard to refuse, and paraphrases that are to be answered, by rules.

    python -m data.english.harder [FOLDER]

Reads qa/all_train.json and qa/all_dev.json of FOLDER, datasets/english unless it is given, which
data.english.unanswerable writes, and writes harder_train.json and harder_dev.json beside them:
what has an answer, a third of what has none, and what the rules make. mixed_train.json has a third
of the made ones, for a training by the clock. `english/ner` says which
names of a passage are of one kind; near.tsv has words that are near each other and mean another
thing, or the same; asks.tsv has questions about a name, with the beginnings of words that a passage
has to lack. The way a question was made ends its id. Nobody has read these questions: some that
are to be refused have an answer all the same. Two minutes of one core.
"""

import functools
import itertools
import json
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import luke_jax
from luke_jax.tasks.ner.documents import sentences_of

from . import rephrased
from .texts import digest, held_out
from .unanswerable import Item, read

HERE = Path(__file__).parent
NUMBER = re.compile(r"\b\d[\d,.]*\d\b|\b\d\b")
YEAR = re.compile(r"\b1\d{3}\b|\b20\d\d\b")
KEPT = 3  # one in three of the questions without an answer that there are already
LITTLE = "after before because despite during false instead last second under when while with years"
ASKED_OF_A_NAME = 2  # questions for each passage
THING = re.compile(r"\b[Tt]he ([a-z]{4,}(?<!st|ic|al))(?=[,.;]| (?:was|is|in|at|by|has|had)\b)")

Name = tuple[str, str]  # as it is written, and its kind


class Passage(NamedTuple):
  """A text as the rules see it."""

  text: str
  names: Sequence[Name]
  words: frozenset[str]  # in small letters

  def lacks(self, *beginnings: str) -> bool:
    """Returns whether no word begins like one of these."""
    return not any(word.startswith(beginnings) for word in self.words)

  def tells(self, answers: Sequence[str]) -> str:
    """Returns the sentences that have an answer."""
    sentences = (self.text[start:end] for start, end in sentences_of(self.text, "en"))
    return " ".join(x for x in sentences if any(answer in x for answer in answers))


class Asked(NamedTuple):
  """A question, the texts of its answers and the sentences that have them."""

  text: str
  answers: Sequence[str]
  told: str


@functools.cache
def near(kind: str) -> dict[str, tuple[str, ...]]:
  """Returns words and what may stand for them: `same`, `other` or `ask`."""
  lines = [x.split("\t") for x in (HERE / "near.tsv").read_text(encoding="utf-8").splitlines()]
  found: dict[str, tuple[str, ...]] = {}
  for row in (x for x in lines if x[0] == kind):
    word, _, others = row[1].partition(" ") if len(row) == 2 else (row[1], "", row[2])
    new = tuple(others.split(" " if kind == "other" else "|"))
    found[word] = found.get(word, ()) + new
  return found


@functools.cache
def asks() -> dict[str, list[tuple[str, tuple[str, ...]]]]:
  """Returns questions about a name, by its kind, and what a passage has to lack for each."""
  found = defaultdict(list)
  for line in (HERE / "asks.tsv").read_text(encoding="utf-8").splitlines():
    kind, question, beginnings = line.split("\t")
    found[kind].append((question, tuple(beginnings.split())))
  return found


def stem(word: str) -> str:
  """Returns the beginning that forms of a word share, more or less."""
  return word.lower()[: max(4, len(word) - 3)]


def within(name: str, text: str) -> re.Match[str] | None:
  """Returns where a text has a name as words of its own."""
  return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)


def swapped(asked: Asked, passage: Passage, rng: random.Random) -> str:
  """Returns a question in which two names of the passage, of one kind, have changed places."""
  found = _names_in(asked.text, passage)
  pairs = [
    (a, b)
    for a, b in itertools.combinations(found, 2)
    if a[1] == b[1] and not _listed(asked.text, a[0], b[0])
  ]
  if not pairs:
    return ""
  (first, _), (second, _) = rng.choice(pairs)
  parts = re.split(rf"(?<!\w)({re.escape(first)}|{re.escape(second)})(?!\w)", asked.text)
  other = {first: second, second: first}
  return "".join(other.get(part, part) for part in parts)


def _listed(text: str, first: str, second: str) -> bool:
  """Returns whether two names stand side by side, so that their order says nothing."""
  pair = rf"(?:{re.escape(first)}|{re.escape(second)})"
  return bool(re.search(rf"{pair}(?:, | and | or |-){pair}", text))


def other_name(asked: Asked, passage: Passage, rng: random.Random) -> str:
  """Returns a question about another name of the passage, of which another sentence tells."""
  found = _names_in(asked.text, passage)
  if not found:
    return ""
  name, kind = rng.choice(found)
  others = [
    other
    for other, its in passage.names
    if its == kind and other not in asked.told and not _alike(other, name)
    if not any(_alike(other, x) for x in (*asked.answers, asked.text))
  ]
  if not others:
    return ""
  return re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", rng.choice(others), asked.text)


def _names_in(text: str, passage: Passage) -> list[Name]:
  found = [x for x in passage.names if len(x[0]) > 2 and within(x[0], text)]
  return [x for x in found if not any(x[0] in y[0] and x[0] != y[0] for y in found)]


def _alike(first: str, second: str) -> bool:
  return bool(set(first.lower().split()) & set(second.lower().split()))


def relation(asked: Asked, passage: Passage, rng: random.Random) -> str:
  """Returns a question with a word that means another thing and is not in the passage."""
  places = []
  for match in re.finditer(r"\b[a-z]+\b", asked.text):
    others = [x for x in near("other").get(match.group(), ()) if passage.lacks(stem(x))]
    places += [(match.span(), other) for other in others]
  if not places:
    return ""
  (start, end), other = rng.choice(places)
  return asked.text[:start] + other + asked.text[end:]


def number(asked: Asked, passage: Passage, rng: random.Random) -> str:
  """Returns a question with another year or number: of another sentence, or of none."""
  found = list(NUMBER.finditer(asked.text))
  if not found:
    return _dated(asked, passage, rng)
  old = rng.choice(found)
  others = NUMBER.findall(passage.text)
  if year := YEAR.fullmatch(old.group()):
    others = _years(int(year.group()), asked, passage, rng)
  others = [x for x in others if x not in asked.told and x not in asked.text]
  if not others:
    return ""
  return asked.text[: old.start()] + rng.choice(others) + asked.text[old.end() :]


def _dated(asked: Asked, passage: Passage, rng: random.Random) -> str:
  """Returns a question with a year, where its sentence tells of another one."""
  told = [x for x in YEAR.findall(asked.told) if not any(x in answer for answer in asked.answers)]
  if not told or re.search(r"\b(?:[Ww]hen|year|long)\b", asked.text):
    return ""
  others = [x for x in _years(int(told[0]), asked, passage, rng) if x not in asked.told]
  return rephrased.added(asked.text, f"in {rng.choice(others)}", rng) if others else ""


def _years(year: int, asked: Asked, passage: Passage, rng: random.Random) -> list[str]:
  """Returns other years: those of other sentences, or near ones that the passage lacks."""
  others = [x for x in YEAR.findall(passage.text) if x not in asked.told]
  if others and rng.random() < 0.5:
    return others
  near_ones = [str(year + x) for x in (-20, -10, -5, -2, -1, 1, 2, 5, 10, 20)]
  return [x for x in near_ones if x not in passage.text]


def event(asked: Asked, passage: Passage, rng: random.Random) -> str:
  """Returns a question with an event or a circumstance that the passage has no word of."""
  (added, _) = rng.choice(asks()["with"])
  beginnings = [stem(x) for x in added.split() if len(x) > 3 and x not in LITTLE.split()]
  return rephrased.added(asked.text, added, rng) if passage.lacks(*beginnings) else ""


def attribute(asked: Asked, passage: Passage, rng: random.Random) -> str:
  """Returns a question after something else that its sentence does not tell."""
  return rephrased.asked_otherwise(asked.text, asked.answers, asked.told, rng)


def same(asked: Asked, passage: Passage, rng: random.Random) -> str:
  """Returns a question in other words."""
  return rephrased.in_other_words(asked.text, asked.answers, (near("same"), near("ask")), rng)


def known(asked: Asked, passage: Passage, rng: random.Random) -> str:
  """Returns a question with a circumstance that stands in the sentence of its answer."""
  return rephrased.with_circumstance(asked.text, asked.answers, asked.told, rng)


WAYS = (swapped, other_name, relation, number, event, attribute)  # without an answer
ANSWERED = (same, known)
# What share of the questions of a way is made, if not all.
MADE = {"event": 0.2, "relation": 0.8, "same": 0.7, "known": 0.5}


def questions(paragraph: Item, passage: Passage) -> Iterator[Item]:
  """Yields all that the rules make of a paragraph."""
  for question in paragraph["qas"]:
    answers = [x["text"] for x in question["answers"]]
    asked = Asked(question["question"].strip(), answers, passage.tells(answers))
    for way in (*WAYS, *ANSWERED):
      id = f"{question['id']}-{way.__name__}"
      rng = random.Random(digest(id))
      if rng.random() >= MADE.get(way.__name__, 1):
        continue
      if (text := way(asked, passage, rng)) and text != asked.text:
        none = way in WAYS
        given = [] if none else question["answers"]
        yield {"id": id, "question": text, "answers": given, "is_impossible": none}
  yield from told_and_untold(passage)


def told_and_untold(passage: Passage) -> Iterator[Item]:
  """Yields short questions about names: some that a sentence answers, some that none does."""
  id = digest(passage.text)[:16]
  rng = random.Random(id)
  for made, (question, start, end) in enumerate(rephrased.told(passage.text, passage.names)):
    answer = {"text": passage.text[start:end], "answer_start": start}
    yield {"id": f"{id}{made}-told", "question": question, "answers": [answer]} | {
      "is_impossible": False
    }
  things = [(x, "THING") for x in set(THING.findall(passage.text))]
  about = sorted({x for x in (*passage.names, *things) if x[1] in asks()})
  for made in range(ASKED_OF_A_NAME):
    name, kind = rng.choice(about) if about else ("", "")
    fitting = [q for q, beginnings in asks().get(kind, ()) if passage.lacks(*beginnings)]
    if fitting:
      question = rng.choice(fitting).format(name)
      yield {"id": f"{id}{made}-untold", "question": question, "answers": []} | {
        "is_impossible": True
      }


def names_of(articles: Sequence[Item]) -> dict[str, list[Name]]:
  """Returns the names of all passages, each once, as `english/ner` finds them."""
  paragraphs = [p for article in articles for p in article["paragraphs"]]
  answered = [p["context"] for p in paragraphs if any(q["answers"] for q in p["qas"])]
  texts = list(dict.fromkeys(answered))
  found = luke_jax.load("english/ner").predict(texts)
  return {
    text: list(dict.fromkeys((x.text, x.label) for x in names))
    for text, names in zip(texts, found, strict=True)
  }


def passage_of(text: str, names: Sequence[Name]) -> Passage:
  """Returns a text as the rules see it."""
  return Passage(text, names, frozenset(re.findall(r"\w+", text.lower())))


def with_harder(article: Item, names: dict[str, list[Name]]) -> Item:
  """Returns an article with more questions, and of those without an answer that it has a third."""
  paragraphs = []
  for p in article["paragraphs"]:
    if any(q["answers"] for q in p["qas"]):
      passage = passage_of(p["context"], names[p["context"]])
      paragraphs.append({**p, "qas": [*p["qas"], *questions(p, passage)]})
    elif all(held_out(q["id"], KEPT) for q in p["qas"]):
      paragraphs.append(p)
  return {**article, "paragraphs": paragraphs}


def main(folder: Path) -> None:
  """Writes the questions of training and dev and prints how many there are of each way."""
  for split in ("train", "dev"):
    articles = read(folder / f"all_{split}.json")
    names = names_of(articles)
    found = [with_harder(article, names) for article in articles]
    path = folder / f"harder_{split}.json"
    path.write_text(json.dumps({"version": "v2.0", "data": found}, ensure_ascii=False), "utf-8")
    ids = [q["id"] for a in found for p in a["paragraphs"] for q in p["qas"]]
    counts = Counter(id.rpartition("-")[2] if "-" in id else "as it is" for id in ids)
    print(f"{path}: {', '.join(f'{way} {count:,}' for way, count in counts.items())}")
    if split == "train":
      for paragraph in (paragraph for article in found for paragraph in article["paragraphs"]):
        paragraph["qas"] = [
          q for q in paragraph["qas"] if "-" not in q["id"] or held_out(q["id"], 3)
        ]
      text = json.dumps({"version": "v2.0", "data": found}, ensure_ascii=False)
      (folder / "mixed_train.json").write_text(text, "utf-8")


if __name__ == "__main__":
  if len(sys.argv) > 2:
    sys.exit(__doc__)
  main(Path(*sys.argv[1:] or ["datasets/english"]) / "qa")
