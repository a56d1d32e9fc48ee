"""Makes the English data sets: python -m data.english.make ORIGINALS [FOLDER].

ORIGINALS has the files of the publications as README.md lists them; one that is missing is named,
and what needs it is left out. FOLDER is datasets/english unless it is given.
"""

import collections
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from data.redocred.make import split_documents
from luke_jax.tasks.facts.files import FactsExample

from .texts import Tagged, digest, held_out, read_columns, span_of, text_of

Examples = dict[str, list[dict]]  # by split
DOMAINS = ("ai", "literature", "music", "politics", "science")
WNUT = {
  "train": "wnut17train.conll",
  "dev": "emerging.dev.conll",
  "test": "emerging.test.annotated",
}
WNUT_TYPES = {
  "person": "PER",
  "location": "LOC",
  "corporation": "ORG",
  "group": "ORG",
  "creative-work": "MISC",
  "product": "MISC",
}
HELD_OUT_ARTICLES = 8  # of SQuAD's 48


def types() -> dict[str, tuple[str, str]]:
  """CrossNER's types: that of a name, empty for none, and plain words."""
  lines = (Path(__file__).parent / "types.tsv").read_text(encoding="utf-8").splitlines()
  rows = (line.split("\t") for line in lines)
  return {kind: (name, plain) for kind, name, plain in rows}


def ner(originals: Path) -> Examples:
  """Names of people, places, organizations and the rest; a twentieth of training is dev."""
  names = {kind: name for kind, (name, _) in types().items()}
  found: Examples = {"train": [], "dev": [], "test_crossner": [], "test_wnut17": []}
  for split in ("train", "dev", "test"):
    for domain in DOMAINS:
      sentences = read_columns(originals / "crossner" / domain / f"{split}.txt")
      _add_names(found, split, "crossner", sentences, names)
    sentences = read_columns(originals / "wnut17" / WNUT[split])
    _add_names(found, split, "wnut17", sentences, WNUT_TYPES)
  uner = read_columns(originals / "uner_en_ewt" / "dev.iob2", word=1, tag=2)
  _add_names(found, "train", "uner", uner, {name: name for name in ("PER", "LOC", "ORG")})
  other = _usually_misc(found["train"])
  for split, documents in split_documents(originals / "redocred").items():
    found[f"{split}_redocred"] = [x for d in documents for x in _sentences(d.example, other)]
  return found


def _usually_misc(examples: Iterable[dict]) -> set[str]:
  """Returns the names that are MISC in most of their places."""
  balance: collections.Counter[str] = collections.Counter()
  for example in examples:
    for start, end, label in example["spans"]:
      balance[example["text"][start:end]] += 1 if label == "MISC" else -1
  return {name for name, more in balance.items() if more > 0}


def _sentences(document: FactsExample, other: set[str]) -> Iterator[dict]:
  """Yields the sentences of a document with its names, dates and numbers, as the others have them.

  So names have no leading "the", and "American" is no place.
  """
  mentions = {(*x, name.label) for name in document.names for x in name.mentions}
  for first, last in document.sentences:
    spans, end = [], first
    for start, stop, label in sorted(mentions):
      if label not in ("TIME", "NUM"):
        start += 4 * document.text.startswith("the ", start)
        label = "MISC" if document.text[start:stop] in other else label
      if end <= start < stop <= last:  # of two that overlap, the first
        spans.append([start - first, stop - first, label])
        end = stop
    yield {"text": document.text[first:last], "spans": spans}


def _add_names(
  found: Examples, split: str, source: str, sentences: Iterable[Tagged], names: dict[str, str]
) -> None:
  for sentence in sentences:
    text, starts = text_of(sentence.words)
    spans = [
      [*span_of(sentence.words, starts, first, end), names[kind]]
      for first, end, kind in sentence.spans
      if names.get(kind)
    ]
    place = f"test_{source}" if split == "test" else "dev" if held_out(text, 20) else "train"
    found[place].append({"text": text, "spans": spans})


def typing(originals: Path) -> Examples:
  """The kind of a name, one of CrossNER's 39; a twentieth of training is dev."""
  plain = {kind: words for kind, (_, words) in types().items()}
  found: Examples = {"train": [], "dev": [], "test": []}
  for split in ("train", "dev", "test"):
    for domain in DOMAINS:
      for sentence in read_columns(originals / "crossner" / domain / f"{split}.txt"):
        text, starts = text_of(sentence.words)
        place = "test" if split == "test" else "dev" if held_out(text, 20) else "train"
        found[place] += [
          {"text": text, "span": span_of(sentence.words, starts, *words), "labels": [plain[kind]]}
          for *words, kind in sentence.spans
        ]
  return found


def relations(originals: Path) -> Examples:
  """FewRel's 16 published relations: of each 580 sentences, 20 for dev and 100 for test."""
  folder = originals / "fewrel"
  sentences = json.loads((folder / "val_wiki.json").read_text(encoding="utf-8"))
  names = json.loads((folder / "pid2name.json").read_text(encoding="utf-8"))
  found: Examples = {"train": [], "dev": [], "test": []}
  for pid, items in sentences.items():
    for number, item in enumerate(items):
      text, starts = text_of(item["tokens"])
      head, tail = (
        span_of(item["tokens"], starts, item[end][2][0][0], item[end][2][0][-1] + 1)
        for end in ("h", "t")
      )
      example = {"text": text, "head": head, "tail": tail, "label": names[pid][0]}
      found["train" if number < 580 else "dev" if number < 600 else "test"].append(example)
  return found


def semeval(originals: Path) -> Examples:
  """SemEval-2010 Task 8 as OpenNRE has it: nine relations in both directions, and Other."""
  found: Examples = {}
  for split, name in (("train", "train"), ("dev", "val"), ("test", "test")):
    lines = (originals / "semeval2010_task8" / f"{name}.txt").read_text(encoding="utf-8")
    found[split] = []
    for item in map(json.loads, lines.splitlines()):
      text, starts = text_of(item["token"])
      head, tail = (span_of(item["token"], starts, *item[end]["pos"]) for end in ("h", "t"))
      found[split].append({"text": text, "head": head, "tail": tail, "label": item["relation"]})
  return found


def qa(originals: Path) -> Examples:
  """Articles of SQuAD's published development set, eight of the 48 held out."""
  articles = json.loads((originals / "squad" / "dev-v1.1.json").read_text(encoding="utf-8"))["data"]
  by_hash = sorted(articles, key=lambda article: digest(article["title"]))
  return {"train": by_hash[HELD_OUT_ARTICLES:], "test": by_hash[:HELD_OUT_ARTICLES]}


def without_repeats(found: Examples) -> Examples:
  """Leaves out what also stands in a test: CrossNER repeats some sentences in several parts."""
  tests = {x["text"] for split, kept in found.items() if split.startswith("test") for x in kept}
  return {
    split: kept if split.startswith("test") else [x for x in kept if x["text"] not in tests]
    for split, kept in found.items()
  }


MAKERS: dict[str, Callable[[Path], Examples]] = {
  "ner": ner,
  "relations": relations,
  "semeval": semeval,
  "typing": typing,
  "qa": qa,
}


def write(task: str, found: Examples, folder: Path) -> None:
  """Writes a file for each split: lines of JSON, or SQuAD's form for questions."""
  folder.mkdir(parents=True, exist_ok=True)
  for split, examples in found.items():
    if task == "qa":
      text = json.dumps({"version": "1.1", "data": examples}, ensure_ascii=False)
      (folder / f"{split}.json").write_text(text, encoding="utf-8")
      continue
    lines = (json.dumps(x, ensure_ascii=False) + "\n" for x in examples)
    (folder / f"{split}.jsonl").write_text("".join(lines), encoding="utf-8")


def main(originals: Path, folder: Path) -> int:
  """Makes what the original files are there for; returns 1 if some are missing."""
  missing = 0
  for task, make in MAKERS.items():
    try:
      found = make(originals)
    except FileNotFoundError as fault:
      print(f"{task}: left out, no {fault.filename}", file=sys.stderr)
      missing = 1
      continue
    found = found if task == "qa" else without_repeats(found)
    write(task, found, folder / task)
    counts = ", ".join(f"{split} {len(x):,}" for split, x in found.items())
    print(f"{folder / task}: {counts}")
  return missing


if __name__ == "__main__":
  if len(sys.argv) not in (2, 3):
    sys.exit(__doc__)
  sys.exit(main(Path(sys.argv[1]), Path((sys.argv[2:] or ["datasets/english"])[0])))
