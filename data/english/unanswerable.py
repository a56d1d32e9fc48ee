"""Adds questions that the passage does not answer to those of SQuAD.

    python -m data.english.unanswerable [FOLDER]

Reads qa/train.json and qa/test.json of FOLDER, datasets/english unless it is given, and writes
all_train.json, all_dev.json and all_test.json, in the form of SQuAD 2.0: each question as it is,
and once where it has no answer, in one of four ways that its id ends with. Four articles of
training are dev. Nobody has read these questions: a few have an answer in other words.
"""

import json
import random
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from luke_jax.tasks.ner.documents import sentences_of

from .texts import digest

DEV_ARTICLES = 4
WAYS = ("cut", "cut", "article", "article", "name", "other")  # as often as they stand here
# What of a question may be another one's: numbers, and words in capitals after the first.
NAME = re.compile(r"(?<=\s)(?:[A-Z][\w'-]+(?:\s[A-Z][\w'-]+)*|\d[\d,.]*\d|\d)")
TRIES = 20  # of questions or names, until one is not in the passage

Item = dict[str, Any]  # an object of SQuAD's JSON


def main(folder: Path) -> None:
  """Writes the questions of all splits and prints how many there are."""
  train, test = (read(folder / f"{split}.json") for split in ("train", "test"))
  splits = {"train": train[DEV_ARTICLES:], "dev": train[:DEV_ARTICLES], "test": test}
  for split, articles in splits.items():
    found = [with_unanswerable(article, articles) for article in articles]
    path = folder / f"all_{split}.json"
    path.write_text(json.dumps({"version": "v2.0", "data": found}, ensure_ascii=False), "utf-8")
    answers = [bool(q["answers"]) for a in found for p in a["paragraphs"] for q in p["qas"]]
    print(f"{path}: {answers.count(True):,} with an answer, {answers.count(False):,} without")


def read(path: Path) -> list[Item]:
  """Returns the articles of a file."""
  return json.loads(path.read_text(encoding="utf-8"))["data"]


def with_unanswerable(article: Item, articles: Sequence[Item]) -> Item:
  """Returns an article with the paragraphs of its unanswerable questions after its own."""
  paragraphs, others = article["paragraphs"], [x for x in articles if x is not article]
  own = [{**p, "qas": [{**q, "is_impossible": False} for q in p["qas"]]} for p in paragraphs]
  return {**article, "paragraphs": [*own, *_unanswerable(paragraphs, others)]}


def _unanswerable(paragraphs: Sequence[Item], others: Sequence[Item]) -> Iterator[Item]:
  for paragraph in paragraphs:
    for question in paragraph["qas"]:
      rng = random.Random(digest(question["id"]))
      way = rng.choice(WAYS)
      context, text = paragraph["context"], question["question"]
      if way == "cut":
        context = _without_answers(context, question)
      elif way == "name":
        text = _with_another_name(text, context, paragraphs, rng)
      else:
        among = paragraphs if way == "article" else rng.choice(others)["paragraphs"]
        text = _unanswered(context, among, rng)
      if context and text:
        asked = {"id": f"{question['id']}-{way}", "question": text}
        yield {"context": context, "qas": [asked | {"answers": [], "is_impossible": True}]}


def _without_answers(context: str, question: Item) -> str:
  """Returns a passage without the sentences that have an answer; "" if nothing of use is left."""
  answers = [answer["text"].lower() for answer in question["answers"]]
  sentences = [context[start:end].strip() for start, end in sentences_of(context, "en")]
  kept = [x for x in sentences if not any(answer in x.lower() for answer in answers)]
  return " ".join(kept) if 2 <= len(kept) < len(sentences) else ""


def _unanswered(context: str, paragraphs: Sequence[Item], rng: random.Random) -> str:
  """Returns a question about one of the paragraphs no answer to which is in a passage."""
  for _ in range(TRIES):
    question = rng.choice(rng.choice(paragraphs)["qas"])
    if not any(answer["text"].lower() in context.lower() for answer in question["answers"]):
      return question["question"]
  return ""


def _with_another_name(
  text: str, context: str, paragraphs: Sequence[Item], rng: random.Random
) -> str:
  """Returns a question with one of its names another one of the article, not in the passage."""
  names = list(NAME.finditer(text))
  if not names:
    return ""
  name = rng.choice(names)
  for _ in range(TRIES):
    question = rng.choice(rng.choice(paragraphs)["qas"])["question"]
    found = [x for x in NAME.findall(question) if x[0].isdigit() == name.group()[0].isdigit()]
    if found and (other := rng.choice(found)).lower() not in context.lower():
      return text[: name.start()] + other + text[name.end() :]
  return ""


if __name__ == "__main__":
  if len(sys.argv) > 2:
    sys.exit(__doc__)
  main(Path(*sys.argv[1:] or ["datasets/english"]) / "qa")
