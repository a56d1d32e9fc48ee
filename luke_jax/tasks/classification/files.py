"""Texts with labels in files: tables with tabs or commas, and lines of JSON."""

import dataclasses
import functools
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.formats import datasets, files
from luke_jax.formats.datasets import is_table
from luke_jax.formats.records import SPREADSHEETS, as_object, by_name, is_spreadsheet, records
from luke_jax.heads.attributes import UNKNOWN
from luke_jax.tasks.classification.forms import (
  FIELDS,
  NO_AGREEMENT,
  PLAIN,
  REVIEWS,
  Form,
  Item,
  form_of,
  named,
  reviews,
)

KNOWN = ("text_pair", "label", "labels", "qid")
# How a user says that a field is an attribute.
NAMED = " of task.attributes.names (in data check and score: of --attributes)"
COLUMNS = ", or the fields to read as --columns text=…,label=…"
OBJECTS = (".jsonl", ".json")


@dataclasses.dataclass(frozen=True)
class TextExample:
  """A text or a pair of texts and, if known, its labels; a number is the text of its only one."""

  id: str
  place: str  # file and line
  text: str
  text_pair: str | None = None
  labels: tuple[str, ...] | None = None
  qid: str | None = None  # of the question that the text is a candidate for
  attributes: tuple[str, ...] = ()  # values of those that the task names


class Reader(NamedTuple):
  """Reader of a file's objects: their form, and the attributes that each must have."""

  form: Form
  attributes: tuple[str, ...] = ()

  def example(self, value: Mapping[str, object], id: str, place: str) -> TextExample:
    """Returns the example in an object that has the form's names."""
    return self.named(named(value, self.form, place), id, place)

  def named(self, value: Mapping[str, object], id: str, place: str) -> TextExample:
    """Returns the example in an object that has our names."""
    try:
      files.check_fields(value, (*KNOWN, *self.attributes), place)
    except InputError as fault:
      raise InputError(f"{fault}, or an attribute{NAMED}{COLUMNS}") from None
    text = files.read_text(value, place).text
    pair = files.string(value, "text_pair", place) if "text_pair" in value else None
    qid = _name(value["qid"], f"{place}: qid") if "qid" in value else None
    attributes = tuple(_attribute(value, name, place) for name in self.attributes)
    return TextExample(id, place, text, pair, labels_in(value, place), qid, attributes)


def read(
  path: Path, faults: files.Faults, columns: Sequence[str] = (), attributes: Sequence[str] = ()
) -> list[TextExample]:
  """Reads lines of JSON, a list of objects, a table with a header, or reviews.

  A table's name ends in .csv, with commas and quotes, or in .tsv, with tabs and no quotes; that of
  reviews ends in .ss. Each example has the named attributes.
  """
  reader = Reader(form_of(columns, attributes), tuple(attributes))
  examples = list(_read(path, faults, reader))
  agreed = [x for x in examples if not columns or x.labels != (NO_AGREEMENT,)]
  if len(agreed) < len(examples):
    left_out = f"{len(examples) - len(agreed)} of {len(examples)} examples are left out"
    warnings.warn(f"{path}: {left_out}: their label is {NO_AGREEMENT!r}", stacklevel=2)
  if path.suffix == REVIEWS and (none := sum(not x.text for x in examples)):
    warnings.warn(
      f"{path}: nothing is left of {none} of {len(examples)} reviews, since those of {REVIEWS} are"
      " cleaned as English; JSON lines are read as they are",
      stacklevel=2,
    )
  return agreed


def _read(path: Path, faults: files.Faults, reader: Reader) -> Iterator[TextExample]:
  form = reader.form
  if path.suffix == REVIEWS:
    items, form = reviews(path, reader.attributes), PLAIN
  elif is_spreadsheet(path):
    items = _table(path, form)
  elif is_table(path) or path.suffix == ".json":
    items = records(path)
  elif path.suffix == ".jsonl":
    return files.parse_items(records(path), str(path), reader.example, faults, as_object)
  else:
    next(files.lines(path), None)  # a spreadsheet is named as such
    expected = ", ".join((*SPREADSHEETS, *OBJECTS, REVIEWS))
    raise InputError(f"{path}: {path.suffix or 'no ending'}; expected a name with {expected}")

  def fields(counted: tuple[int, Any], place: str) -> Mapping[str, object]:
    number, item = counted
    values = as_object(item, place)
    if datasets.is_export(values):
      values = datasets.as_ours(values, place)
    value = named(values, form, place)
    return value | {"id": str(value.get("id", number))}

  counted = ((name, (number, item)) for number, (name, item) in enumerate(items, start=1))
  return files.parse_items(counted, str(path), reader.named, faults, fields)


def parse(
  value: Mapping[str, object],
  id: str,
  place: str,
  columns: Sequence[str] = (),
  *,
  attributes: Sequence[str] = (),
) -> TextExample:
  """Returns the example in an object of JSON lines."""
  return Reader(form_of(columns, attributes), tuple(attributes)).example(value, id, place)


def to_json(example: TextExample) -> dict[str, object]:
  """Returns the object that `parse` reads as the example."""
  value: dict[str, object] = {"id": example.id, "text": example.text}
  if example.text_pair is not None:
    value["text_pair"] = example.text_pair
  if example.labels is not None:
    one = len(example.labels) == 1
    value |= {"label": example.labels[0]} if one else {"labels": list(example.labels)}
  return value if example.qid is None else value | {"qid": example.qid}


def labels_in(value: Mapping[str, object], place: str) -> tuple[str, ...] | None:
  """Returns the labels of an object, each once; None if it has neither `label` nor `labels`."""
  if "label" in value and "labels" in value:
    raise InputError(f"{place}: both label and labels; expected one of them")
  field = "label" if "label" in value else "labels"
  if field not in value:
    return None
  if field == "label" and not isinstance(value[field], list):  # as doccano has them
    return (_name(value[field], f"{place}: label"),)
  names = (_name(x, f"{place}: {field}") for x in files.listed(value, field, place))
  return tuple(dict.fromkeys(names))


def number_in(example: TextExample) -> float:
  """Returns the number that is an example's answer."""
  labels = example.labels
  if labels is None or len(labels) != 1:
    actual = "missing" if labels is None else ", ".join(labels) or "none"
    raise InputError(f"{example.place}: label: {actual}; expected a number")
  try:
    number = float(labels[0])
  except ValueError:
    number = math.nan
  if not math.isfinite(number):
    raise InputError(f"{example.place}: label: {labels[0]!r}; expected a number")
  return number


def _name(value: object, place: str) -> str:
  """Returns the name of a label, which may be a number, as Hugging Face has them."""
  if isinstance(value, bool) or not isinstance(value, str | int | float):
    raise InputError(f"{place}: {value!r}; expected a text or a number")
  if isinstance(value, float) and not math.isfinite(value):
    raise InputError(f"{place}: {value}; expected a text or a number")
  if not str(value).strip():
    raise InputError(f"{place}: empty; expected a text or a number")
  return str(value)


def _attribute(value: Mapping[str, object], name: str, place: str) -> str:
  """Returns the value of an attribute, which has to be on one line, as lists of values have it."""
  if name not in value:
    raise InputError(
      f"{place}: {name}: missing; expected its value, or {UNKNOWN} if it is not known"
    )
  attribute = _name(value[name], f"{place}: {name}")
  if len(attribute.splitlines()) > 1:
    raise InputError(f"{place}: {name}: {attribute!r:.40}; expected a single line")
  return attribute.strip()


def _table(path: Path, form: Form) -> Iterator[Item]:
  """Yields the line of each row of a table, and a function that returns its fields."""
  header = list(form.header)
  for number, row in files.rows_of(path):
    if not header or (number == 1 and form.names["text"][0] in row):
      header = _checked(_names(row, form), form, f"{path}: line {number}")
    else:
      yield f"line {number}", functools.partial(by_name, (header, row))


def _names(header: Sequence[str], form: Form) -> list[str]:
  """Returns the names of columns, in small letters where the form has them so."""
  known = {name for names in form.names.values() for name in names}
  stripped = (name.strip() for name in header)
  return [name.lower() if name.lower() in known else name for name in stripped]


def _checked(header: list[str], form: Form, place: str) -> list[str]:
  """Returns the names of a table's columns; raises InputError for those that are not its form's."""
  texts = form.names["text"]
  if not any(name in header for name in texts):
    raise InputError(
      f"{place}: columns {', '.join(header)[:80]}; expected {texts[0]!r} among them, or the column"
      " of the texts as --columns text=…"
    )
  readable = {name for names in form.names.values() for name in names}
  for name in header:
    if form.strict and name not in readable:
      raise InputError(
        f"{place}: column {name!r}: not known; expected {', '.join(FIELDS)}, the columns to read"
        f" as --columns text=…,label=…, or an attribute{NAMED}"
      )
  return header
