"""Files of examples, read line by line, with faults that name their place.

Files that hold no text in UTF-8 are known by their first bytes; the fault says the way to a text.
"""

import contextlib
import contextvars
import csv
import dataclasses
import difflib
import io
import json
import re
import shlex
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import IO, Any, NamedTuple, TypeVar

from luke_jax.errors import InputError, at
from luke_jax.files import Path
from luke_jax.text import join_words
from luke_jax.text.alignment import AlignedEntity, checked_links
from luke_jax.text.tokenizer import Bounds

COMMON = ("id", "text", "tokens", "meta")
# What other data sets call a text or its words.
_ALSO = dict.fromkeys(("sentence", "sent", "content", "document", "review"), "text")
_ALSO |= dict.fromkeys(("words", "token"), "tokens")
Example = TypeVar("Example")
Item = TypeVar("Item")
HEAD = 8  # bytes that tell them apart
LONGEST = 2**29  # characters of a line, which may be a whole data set of JSON
_SPREADSHEET = (
  "a spreadsheet; expected a text file in UTF-8, such as Excel saves as CSV UTF-8",
  "a zip archive, as Excel's spreadsheets are; expected a text file in UTF-8, such as Excel saves"
  " as CSV UTF-8",
)
_KINDS = {
  b"\xd0\xcf\x11\xe0": _SPREADSHEET[0],
  b"PK\x03\x04": _SPREADSHEET[1],
  b"\x1f\x8b": "compressed; expected a text file, which `zcat < {path}` prints",
  b"BZh": "compressed; expected a text file, which `bzcat < {path}` prints",
  b"\xfd7zXZ": "compressed; expected a text file, which `xzcat < {path}` prints",
  b"\x28\xb5\x2f\xfd": "compressed; expected a text file, which `zstdcat < {path}` prints",
  b"%PDF": "a PDF; expected a text file, which `pdftotext {path} -` prints",
  bytes(4): "begins with zeros; expected a text file in UTF-8",
  b"PAR1": "a table of Parquet; expected lines of JSON, such as pandas writes by"
  " to_json(…, orient='records', lines=True)",
}


@dataclasses.dataclass
class Faults:
  """Faults of files: raised at once or, if they are to be skipped, collected."""

  skip: bool = False
  found: list[InputError] = dataclasses.field(default_factory=list)

  @contextlib.contextmanager
  def caught(self) -> Iterator[None]:
    """Collects a fault in the reading of one example, or raises it."""
    try:
      yield
    except InputError as fault:
      if not self.skip:
        raise
      self.found.append(fault)

  def warn(self, path: str) -> None:
    """Warns of what was left out of a file, if anything was."""
    if self.found:
      count = f"{len(self.found)} faults, what has them is left out"
      warnings.warn(f"{path}: {count}: {self.found[0]}", stacklevel=3)


def labels_in(example: Mapping[str, Any]) -> list[str]:
  """Returns the labels of an example, an object as in JSON lines."""
  of_spans = [label for _, _, *labels in example.get("spans", ()) for label in labels]
  one = [example["label"]] if "label" in example else []
  of_facts = [label for _, _, label in example.get("facts", ())]
  return [*example.get("labels", ()), *one, *of_spans, *of_facts]


# Fields of examples that are answers, or say nothing of the text.
_BESIDE = {"id", "place", "label", "labels", "spans", "unknown", "answers", "sentences"}
_BESIDE |= {"facts", "links", "title"}


def asked_in(example: Mapping[str, object]) -> str:
  """Returns all that an example, an object as in JSON lines, asks about."""
  return json.dumps({name: x for name, x in example.items() if name not in _BESIDE})


class Text(NamedTuple):
  """Text of an example, and the characters of its tokens if a file has spans of these."""

  text: str
  place: str
  tokens: Sequence[Bounds] | None = None

  def span(self, span: Any, name: str, *, beside: object = None, first: bool = False) -> Bounds:
    """Returns the characters of a span of the file, or of words that stand for themselves.

    The text has them once outside of what is `beside`, or the `first` time is meant.
    """
    place = f"{self.place}: {name}"
    if isinstance(span, str):
      return _found(self.text, span, beside, first, place)
    if self.tokens is None:
      return _span(span, len(self.text), "characters", place)
    start, end = _span(span, len(self.tokens), "tokens", place)
    return self.tokens[start][0], self.tokens[end - 1][1]


def _found(text: str, words: str, beside: object, first: bool, place: str) -> Bounds:
  """Returns where a text has words: whole ones, and outside of longer ones where it has both."""
  places = _places(text, words)
  if not places:
    raise InputError(f"{place}: {words!r}: not in the text; expected words of it, or [start, end]")
  if isinstance(beside, str) and len(beside) > len(words):
    longer = _places(text, beside)
    outside = [(a, b) for a, b in places if not any(c <= a and b <= d for c, d in longer)]
    places = outside or places
  if len(places) > 1 and not first:
    raise InputError(
      f"{place}: {words!r}: {len(places)} times in the text; expected more of its words, or"
      " [start, end] in JSON lines; --skip-bad leaves it out"
    )
  return places[0]


def _places(text: str, words: str) -> list[Bounds]:
  if not words:
    return []
  whole = re.finditer(rf"(?<!\w){re.escape(words)}(?!\w)", text)
  return [x.span() for x in whole] or [x.span() for x in re.finditer(re.escape(words), text)]


def rows_of(path: Path) -> Iterator[tuple[int, list[str]]]:
  """Yields the rows of a spreadsheet, with the numbers of their last lines.

  In .tsv there are tabs and no quotes. Else there are commas and quotes, or semicolons where the
  header has more of these, as Excel writes in many countries.
  """
  if path.suffix == ".tsv":
    yield from ((number, line.split("\t")) for number, line in lines(path) if line.strip())
    return
  header = next((line for _, line in lines(path) if line.strip()), "")
  between = ";" if header.count(";") > header.count(",") else ","
  reader = csv.reader((f"{line}\n" for _, line in lines(path)), delimiter=between, strict=True)
  try:
    yield from ((reader.line_num, row) for row in reader if any(row))
  except csv.Error as fault:
    raise InputError(
      f"{path}: line {reader.line_num}: {fault}; expected commas and quotes"
    ) from None


def parse_items(
  items: Iterable[tuple[str, Item]],
  where: str,
  parse: Callable[[Mapping[str, object], str, str], Example],
  faults: Faults,
  read: Callable[[Item, str], Mapping[str, object]],
) -> Iterator[Example]:
  """Yields the results of `parse` for items with their places, each an object as `read` has it."""
  ids: dict[str, str] = {}
  for name, item in items:
    place = f"{where}: {name}"
    with faults.caught():
      value = read(item, place)
      id = value.get("id", name.rpartition(" ")[2])
      if type(id) is int:  # as Hugging Face and doccano have them
        id = str(id)
      if not isinstance(id, str):
        raise InputError(f"{place}: id: {id!r}; expected a string")
      if ids.setdefault(id, name) != name:
        raise InputError(f"{place}: id {id!r}: also that of {ids[id]}; expected it once")
      yield parse(value, id, place)


def lines(path: Path) -> Iterator[tuple[int, str]]:
  """Yields the lines of a text file, numbered from 1."""
  try:
    with path.open("rb") as opened:
      file = io.BufferedReader(opened)  # objects of a bucket have no `peek`
      check_head(file.peek(HEAD), path)
      text = io.TextIOWrapper(file, encoding="utf-8-sig", newline=None)
      yield from lines_of(text, str(path))
  except FileNotFoundError:
    raise InputError(f"{path}: no such file; expected a file of examples") from None
  except IsADirectoryError:
    raise InputError(f"{path}: a directory; expected a file of examples") from None


def lines_of(file: IO[str], name: str) -> Iterator[tuple[int, str]]:
  """Yields the lines of an open file, numbered from 1, none of them endless."""
  number = 0
  try:
    for number, line in enumerate(iter(lambda: file.readline(LONGEST), ""), start=1):
      if len(line) == LONGEST:
        raise InputError(
          f"{name}: line {number}: {LONGEST:,} characters or more; expected a file of lines"
        )
      yield number, line.rstrip("\n")
  except UnicodeDecodeError as fault:
    raise not_utf_8(fault, name, number) from None


def json_object(line: str, place: str) -> Mapping[str, object]:
  """Returns the JSON object in a line."""
  try:
    value = json.loads(line)
  except (ValueError, RecursionError) as fault:
    raise InputError(f"{place}: {fault}; expected a JSON object") from None
  if not isinstance(value, dict):
    raise InputError(f"{place}: a {type(value).__name__}; expected a JSON object")
  return value


def read_json(path: Path) -> Any:
  """Returns the value of a whole JSON file."""
  try:
    return json.loads("\n".join(line for _, line in lines(path)))
  except (ValueError, RecursionError) as fault:
    raise InputError(f"{path}: {fault}; expected JSON") from None


_any_columns: contextvars.ContextVar[bool] = contextvars.ContextVar("any", default=False)


def of_corpus(
  row: Mapping[str, Any],
  parse: Callable[[Mapping[str, Any], str, str], Example],
  unread: Collection[str],
  place: str,
) -> Example:
  """Returns the example in a row of a corpus, which may have columns that nobody knows.

  What is empty is not read, nor are columns of these names, nor tokens beside a text. Of columns
  that may stand for the text, the first is read.
  """
  value = {name: x for name, x in row.items() if x is not None and name not in unread}
  if "text" in value:
    value.pop("tokens", None)
  elif "tokens" not in value:
    others = {ours: value[name] for name, ours in reversed(_ALSO.items()) if name in value}
    if "text" in others:
      others.pop("tokens", None)
    value |= others
  token = _any_columns.set(True)
  try:
    return parse(value, str(value.pop("id", place.rpartition(" ")[2])), place)
  finally:
    _any_columns.reset(token)


def check_fields(value: Mapping[str, object], known: Sequence[str], place: str) -> None:
  """Raises InputError for unknown fields, since they may be misspelt; a corpus may have any."""
  for name in () if _any_columns.get() else value:
    if name not in (*COMMON, *known):
      if name in _ALSO and not {"text", "tokens"} & value.keys():
        raise InputError(f"{place}: {name}: no such field; expected {_ALSO[name]}")
      near = difflib.get_close_matches(name, (*COMMON, *known), n=1)
      hint = f"perhaps {near[0]}" if near else f"one of {', '.join((*COMMON, *known))}"
      raise InputError(f"{place}: {name}: no such field; expected {hint}")


def read_text(value: Mapping[str, object], place: str) -> Text:
  """Returns the text of an object: `text` with character spans, or `tokens` with token spans."""
  if ("text" in value) == ("tokens" in value):
    count = "both text and tokens" if "text" in value else "no text"
    raise InputError(f"{place}: {count}; expected text or tokens")
  if "text" in value:
    return Text(string(value, "text", place), place)
  tokens = listed(value, "tokens", place)
  with at(place):
    joined = join_words(tokens)
  string({"tokens": joined.text}, "tokens", place)
  return Text(joined.text, place, joined.offsets)


def read_links(value: Mapping[str, object], text: Text, place: str) -> tuple[AlignedEntity, ...]:
  """Returns the entities that an object links: lists of a name, a span and perhaps a score."""
  if "links" not in value:
    return ()
  links = []
  for number, link in enumerate(listed(value, "links", place)):
    name = f"link {number}"
    if not isinstance(link, list | tuple) or len(link) < 3:
      raise InputError(f"{place}: {name}: {link!r:.60}; expected [entity, start, end, score]")
    links.append([link[0], *text.span(list(link[1:3]), name), *link[3:]])
  return checked_links(links, len(text.text), place)


def string(value: Mapping[str, object], name: str, place: str) -> str:
  """Returns a field that is a string."""
  field = value.get(name)
  if not isinstance(field, str):
    actual = "missing" if name not in value else repr(field)
    raise InputError(f"{place}: {name}: {actual}; expected a string")
  try:
    field.encode()
  except UnicodeEncodeError:
    raise InputError(f"{place}: {name}: half a surrogate pair; expected Unicode text") from None
  return field


def listed(value: Mapping[str, object], name: str, place: str) -> list[Any]:
  """Returns a field that is a list."""
  field = value.get(name)
  if not isinstance(field, list):
    actual = "missing" if name not in value else repr(field)
    raise InputError(f"{place}: {name}: {actual}; expected a list")
  return field


def _span(span: object, length: int, unit: str, place: str) -> Bounds:
  is_pair = isinstance(span, list | tuple) and len(span) == 2 and all(type(x) is int for x in span)
  if not is_pair:
    actual = "missing" if span is None else repr(span)
    expected = f"[start, end], {unit} of the text, or words that it has once"
    raise InputError(f"{place}: {actual}; expected {expected}")
  start, end = span
  if not 0 <= start < end <= length:
    raise InputError(f"{place}: [{start}, {end}]; expected 0 <= start < end <= {length}, {unit}")
  return start, end


def check_head(head: bytes, path: object) -> None:
  """Raises InputError for the first bytes of a spreadsheet, an archive, or a text in UTF-16."""
  for start, fault in _KINDS.items():
    if head.startswith(start):
      raise InputError(f"{path}: {fault.format(path=_quoted(path))}")
  if encoding := _wide(head):
    raise InputError(f"{path}: in {encoding[:6]}; expected UTF-8, {_converted(path, encoding)}")


def not_utf_8(fault: UnicodeDecodeError, name: str, number: int) -> InputError:
  """Returns the error for a text of which so many lines were read before the fault."""
  line = number + 1 + len(re.findall(rb"\r\n|\r|\n", fault.object[: fault.start]))
  return InputError(
    f"{name}: line {line}: byte 0x{fault.object[fault.start]:02x} is not UTF-8; expected UTF-8,"
    f" {_converted(name, 'WINDOWS-1252')} if it is in Latin-1 or Windows-1252"
  )


def _wide(head: bytes) -> str:
  """Returns the encoding of a text in UTF-16, marked or by its zeros, or in UTF-32 with a mark."""
  if head.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
    return "UTF-32"
  if head.startswith((b"\xff\xfe", b"\xfe\xff")):
    return "UTF-16"
  zeros = [byte == 0 for byte in head[:4]]
  if zeros == [False, True] * 2:
    return "UTF-16LE"
  return "UTF-16BE" if zeros == [True, False] * 2 else ""


def _converted(name: object, encoding: str) -> str:
  return f"which `iconv -f {encoding} -t UTF-8 {_quoted(name)}` prints"


def _quoted(path: object) -> str:
  return shlex.quote(str(path))
