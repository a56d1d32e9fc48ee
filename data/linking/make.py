"""Makes lines of JSON of benchmarks of entity linking: python -m data.linking.make FILES.

The files by which AIDA and five other sets are usually scored are Ganea and Hofmann's, as Le and
Titov packed them: a table of names with candidates and what each name means, and beside it the
texts, a word on each line. GUM's documents are CoNLL-U.
"""

import dataclasses
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any
from urllib.parse import unquote

from tyro.conf import Positional, arg

from luke_jax.cli import script
from luke_jax.errors import InputError
from luke_jax.files import Path, write_text
from luke_jax.formats.files import lines
from luke_jax.tasks.linking.files import Candidates, parse, to_json

CONLLU = ".conllu"
# GUM's Entity: mentions that open, whose eight fields have the words of the head and the title at
# the end, and those that close.
_OPENED_OR_CLOSED = re.compile(r"\((?P<fields>[^()]+)(?P<closed>\))?|(?P<number>[\w\[\]/]+)\)")
# Of Ganea and Hofmann's tables.
TABLE = ".csv"
AIDA = "testa_testb_aggregate_original"
TEXTS = {"aida_train": "aida_train.txt", "aida_testA": AIDA, "aida_testB": AIDA}
TEXTS |= {f"wned-{x}": f"{x}.conll" for x in ("ace2004", "aquaint", "clueweb", "msnbc")}
TEXTS |= {"wned-wikipedia": "wikipedia.conll"}
PERSONS = "persons.txt"  # titles, by which a surname is taken for a full name of the text
LEFT_OUT = ("Jiří_Třanovský",)  # documents that the authors leave out
DOCUMENT = "-DOCSTART- ("


def main(
  files: Annotated[tuple[Path, ...], Positional, arg(metavar="FILE")], /, *, output: Path
) -> None:
  """Writes each file as lines of JSON that linking reads, under its name with .jsonl at the end.

  FILE is a table of Ganea and Hofmann's, such as aida_testB.csv, with the text of that set beside
  it and, for surnames, persons.txt; or documents of GUM.

      python -m data.linking.make ganea/*.csv --output datasets/linking

  Args:
    files: Files of benchmarks.
    output: Folder for the lines.
  """
  readers = {CONLLU: gum, TABLE: ganea}
  output.mkdir(parents=True, exist_ok=True)
  for file in files:
    if file.suffix not in readers:
      raise InputError(f"{file}: expected a name that ends in {' or '.join(readers)}")
    examples = [
      parse(x, x["id"], f"{file}: document {x['id']}") for x in readers[file.suffix](file)
    ]
    place = output / f"{file.stem}.jsonl"
    text = "".join(f"{json.dumps(to_json(x), ensure_ascii=False)}\n" for x in examples)
    write_text(place, text)
    print(f"{place}: {len(examples)} texts")


def gum(path: Path) -> Iterator[dict[str, Any]]:
  """Yields GUM's documents, with the mentions that have a title and a proper noun at their head."""
  id, words = "", []
  for _, line in lines(path):
    if line.startswith("# newdoc id = "):
      if words:
        yield _document(id, words, path)
      id, words = line.rpartition(" ")[2], []
    columns = line.split("\t")
    if len(columns) == 10 and columns[0].isdigit():
      words.append((columns[1], columns[3], columns[9]))
  if words:
    yield _document(id, words, path)


def _document(id: str, words: Sequence[tuple[str, str, str]], path: Path) -> dict[str, Any]:
  text, bounds = "", []
  for form, _, notes in words:
    bounds.append((len(text), len(text) + len(form)))
    text += form + ("" if "SpaceAfter=No" in notes.split("|") else " ")
  mentions = []
  for first, last, title in _linked(words, f"{path}: document {id}"):
    if any(words[i][1] == "PROPN" for i in range(first, last + 1)):
      mentions.append([bounds[first][0], bounds[last][1], unquote(title).replace("_", " ")])
  different = {(start, end): title for start, end, title in mentions}
  return {"id": id, "text": text.rstrip(), "mentions": [[*x, y] for x, y in different.items()]}


def _linked(words: Sequence[tuple[str, str, str]], place: str) -> Iterator[tuple[int, int, str]]:
  """Yields the first and the last word of the head, and the title, of each mention that has one."""
  opened: dict[str, list[tuple[int, int, str]]] = {}
  for i, (_, _, notes) in enumerate(words):
    entity = next((x[len("Entity=") :] for x in notes.split("|") if x.startswith("Entity=")), "")
    for found in _OPENED_OR_CLOSED.finditer(entity):
      number = found["number"]
      if found["fields"]:
        number, *fields = found["fields"].split("-", 7)
        opened.setdefault(number, []).append(_head(i, fields))
      if found["closed"] or found["number"]:
        if not opened.get(number):
          raise InputError(f"{place}: word {i + 1}: {entity!r:.40}; expected a mention to close")
        first, last, title = opened[number].pop()
        if title and last <= i:
          yield first, last, title


def _head(start: int, fields: Sequence[str]) -> tuple[int, int, str]:
  """Returns the words of a mention's head, by their numbers in it, and its title or ""."""
  if len(fields) < 7:
    return start, start, ""
  numbers = [int(x) for x in fields[4].split(",") if x.isdigit()] or [1]
  return start + min(numbers) - 1, start + max(numbers) - 1, fields[6]


@dataclasses.dataclass(frozen=True)
class Named:
  """A name of the table."""

  text: str
  title: str
  candidates: Candidates  # the likeliest first
  place: str


def ganea(path: Path) -> Iterator[dict[str, Any]]:
  """Yields the documents of a table in our form, in the order of the texts."""
  if path.stem not in TEXTS:
    expected = f"expected one of {', '.join(f'{x}{TABLE}' for x in TEXTS)}"
    raise InputError(f"{path}: no table of Ganea and Hofmann's by its name; {expected}")
  named = _table(path)
  persons = path.parent / PERSONS
  people = {line for _, line in lines(persons)} if persons.exists() else set()
  text_file = path.parent / TEXTS[path.stem]
  for name, words in _texts(text_file):
    id = name if name in named else name.removesuffix(")")
    if id not in LEFT_OUT and (of_text := named.pop(id, None)):
      yield _with_mentions(id, words, with_full_names(of_text, people))
  lacking = [id for id in named if id not in LEFT_OUT]
  if lacking:
    raise InputError(f"{text_file}: no document {lacking[0]}; expected it, as {path} has names")


def with_full_names(named: Sequence[Named], people: set[str]) -> list[Named]:
  """Returns names with the candidates of longer names of persons in the text that contain them."""
  found = []
  for one in named:
    longer = [
      x
      for x in named
      if x.candidates
      and x.candidates[0][0] in people
      and x.text.lower() != one.text.lower()
      and f" {one.text} ".lower() in f" {x.text} ".lower()
    ]
    sums: dict[str, float] = defaultdict(float)
    for title, prior in (pair for x in longer for pair in x.candidates):
      sums[title] += prior / len(longer)
    candidates = _likeliest_first(sums) if longer else one.candidates
    found.append(dataclasses.replace(one, candidates=candidates))
  return found


def _table(path: Path) -> dict[str, list[Named]]:
  """Returns the names of each document that mean something, in order."""
  named: dict[str, list[Named]] = defaultdict(list)
  for number, line in lines(path):
    if line.strip():
      place, fields = f"{path}: line {number}", line.rstrip().split("\t")
      if len(fields) < 8:
        expected = "expected document, name, candidates, GT: and what it means"
        raise InputError(f"{place}: {len(fields)} fields with tabs between them; {expected}")
      field = fields[-1]
      index, *rest = field.split(",")
      if not re.fullmatch(r"-?\d+", index):
        raise InputError(f"{place}: {field!r:.60}; expected index,id,prior,title or -1,id,title")
      title = ",".join(rest[1:] if index == "-1" else rest[2:]).replace("&amp;", "&")
      if title:
        given = () if fields[6] == "EMPTYCAND" else fields[6:-2]
        priors = dict(_candidate(x, place) for x in given)
        candidates = _likeliest_first({name: x for name, x in priors.items() if name})
        named[fields[0].split(" ")[0]].append(Named(fields[2], title, candidates, place))
  return dict(named)


def _likeliest_first(priors: Mapping[str, float]) -> Candidates:
  return tuple(sorted(priors.items(), key=lambda x: -x[1]))


def _candidate(field: str, place: str) -> tuple[str, float]:
  _, prior, title = (*field.split(",", 2), "", "")[:3]
  try:
    return title.replace("&amp;", "&"), min(1.0, float(prior))
  except ValueError:
    raise InputError(f"{place}: candidate {field!r:.60}; expected id,prior,title") from None


Word = tuple[str, str]  # and B, I or nothing, for one of a name


def _texts(path: Path) -> Iterator[tuple[str, list[Word]]]:
  """Yields the words of each document with its name."""
  id, words = "", []
  for _, line in lines(path):
    columns = line.split("\t")
    if line.startswith(DOCUMENT):
      if id:
        yield id, words
      id, words = line.removeprefix(DOCUMENT).split(" ")[0], []
    elif columns[0]:
      words.append((columns[0], columns[1] if len(columns) > 5 else ""))
  if id:
    yield id, words


def _with_mentions(id: str, words: Sequence[Word], named: Sequence[Named]) -> dict[str, Any]:
  """Returns a document; its names are found in the order of the table."""
  text, spans = "", []
  for word, part in words:
    text += " " if text else ""
    if part == "I" and spans:
      spans[-1][1] = len(text) + len(word)
    elif part:
      spans.append([len(text), len(text) + len(word)])
    text += word
  mentions, remaining = [], iter(spans)
  for one in named:
    for start, end in remaining:
      if _plain(text[start:end]) == _plain(one.text):
        given = [list(x) for x in one.candidates]
        mentions.append([start, end, one.title, None, False, given])
        break
    else:
      raise InputError(f"{one.place}: {one.text!r}: not in the text; expected it in order")
  return {"id": id, "text": text, "mentions": mentions}


def _plain(text: str) -> str:
  return re.sub(r"\W+", "", text.lower())


if __name__ == "__main__":
  sys.exit(script(main, "python -m data.linking.make"))
