"""Forms of files: the fields that an example has, under the names that a file gives them.

A benchmark's name stands for the form of its released files: GLUE's are tables with tabs, CLUE's
lines of JSON. Reviews in the form of Tang et al. (2015) have two tabs between user, product, rating
and text, which is cleaned as the authors of MA-BERT do:

    u1\t\tp7\t\t4\t\tthe room was small . <sssss> we do n't mind .
"""

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from luke_jax.errors import InputError, perhaps
from luke_jax.files import Path
from luke_jax.formats.files import lines, listed, string

FIELDS = ("id", "text", "text_pair", "label", "labels", "qid")
NO_AGREEMENT = "-"  # the label of a pair that annotators disagree on, in MNLI and its like
REVIEWS = ".ss"
_REVIEW = ("user", "product", "label", "text")
_END = "<sssss>"
_RARE = re.compile(r"[^A-Za-z0-9(),!?\'.`]+")


# A place in a file, and a function that returns the fields that are there, or faults of the place.
Item = tuple[str, Callable[[str], Mapping[str, object]]]


class Form(NamedTuple):
  """Names of columns or fields in a file, by our names; the first of several that is there."""

  names: Mapping[str, tuple[str, ...]]
  header: tuple[str, ...] = ()  # of files that have none
  strict: bool = False  # other names are faults, since they may be misspelt
  change: Callable[[Mapping[str, Any], str], Mapping[str, Any]] | None = None


def _form(text: str, pair: str = "", label: str = "label", **more: Any) -> Form:
  names = {"id": ("id", "index"), "text": (text,), "label": (label,)}
  return Form(names | ({"text_pair": (pair,)} if pair else {}), **more)


def _referents(value: Mapping[str, object], place: str) -> Mapping[str, object]:
  """Returns CLUE's WSC with marks in the text: `_` around the noun, brackets around the pronoun."""
  text, target = string(value, "text", place), value.get("target")
  if not isinstance(target, dict):
    raise InputError(f"{place}: target: {target!r}; expected an object, as in CLUE's WSC")
  marks = []
  for name, opening, closing in (("span1", "_", "_"), ("span2", "[", "]")):
    start, words = target.get(f"{name}_index"), target.get(f"{name}_text")
    if type(start) is not int or not isinstance(words, str):
      raise InputError(f"{place}: target: {target!r}; expected {name}_index and {name}_text")
    marks.append((start, start + len(words), opening, closing))
  for start, end, opening, closing in sorted(marks, reverse=True):
    text = f"{text[:start]}{opening}{text[start:end]}{closing}{text[end:]}"
  return {**value, "text": text}


def _keywords(value: Mapping[str, object], place: str) -> Mapping[str, object]:
  """Returns CLUE's CSL with its keywords as one text."""
  return {**value, "keyword": " ".join(map(str, listed(value, "keyword", place)))}


PLAIN = Form(
  {
    "id": ("id",),
    "text": ("text", "text_a"),
    "text_pair": ("text_pair", "text_b"),
    "label": ("label",),
    "labels": ("labels",),
    "qid": ("qid",),
  },
  strict=True,
)
_PAIR = ("sentence1", "sentence2")
BENCHMARKS: Mapping[str, Form] = {
  "cola": _form("sentence", header=("source", "label", "judgement", "sentence")),
  "sst-2": _form("sentence"),
  "mrpc": _form("#1 String", "#2 String", "Quality"),
  "sts-b": _form(*_PAIR, "score"),
  "qqp": _form("question1", "question2", "is_duplicate"),
  "mnli": _form(*_PAIR, "gold_label"),
  "qnli": _form("question", "sentence"),
  "rte": _form(*_PAIR),
  "wnli": _form(*_PAIR),
  "afqmc": _form(*_PAIR),
  "tnews": _form("sentence"),
  "iflytek": _form("sentence"),
  "cmnli": _form(*_PAIR),
  "ocnli": _form(*_PAIR),
  "wsc": _form("text", change=_referents),
  "csl": _form("abst", "keyword", change=_keywords),
}


def form_of(columns: Sequence[str], attributes: Sequence[str] = ()) -> Form:
  """Returns the form of files that a user names: a benchmark, or pairs of field=column.

  Attributes of texts are fields too, each in the column of its name unless a pair says another.
  """
  form = _form_of(columns, (*FIELDS, *attributes))
  of_attributes = {name: (name,) for name in attributes if name not in form.names}
  return form._replace(names={**form.names, **of_attributes}) if of_attributes else form


def _form_of(columns: Sequence[str], fields: Sequence[str]) -> Form:
  if not columns:
    return PLAIN
  if len(columns) == 1 and "=" not in columns[0]:
    return _benchmark(columns[0])
  names: dict[str, tuple[str, ...]] = {}
  for column in columns:
    field, _, name = column.partition("=")
    if field not in fields or not name or field in names:
      raise InputError(
        f"columns: {','.join(columns)!r}; expected each of {', '.join(fields)} at most once, as in"
        " text=review,label=stars, or the name of a benchmark"
      )
    names[field] = (name,)
  if "text" not in names:
    raise InputError(f"columns: {','.join(columns)!r}; expected text=… among them")
  if not {"label", "labels"} & names.keys():
    names |= {"label": ("label",), "labels": ("labels",)}
  return Form(names)


def _benchmark(name: str) -> Form:
  if name.lower() not in BENCHMARKS:
    raise InputError(
      f"columns: {name!r}; expected pairs such as text=review,label=stars, or one of"
      f" {', '.join(BENCHMARKS)}{perhaps(name.lower(), BENCHMARKS)}"
    )
  return BENCHMARKS[name.lower()]


def named(value: Mapping[str, object], form: Form, place: str) -> dict[str, object]:
  """Returns the fields of an example under our names.

  An object without a text of the form's name has our names already, as one that a user types.
  """
  texts = form.names["text"]
  if not form.strict and not any(name in value for name in texts) and "text" in value:
    return dict(value)
  if form.change is not None:
    value = form.change(value, place)
  fields, read = {}, set()
  for field, names in form.names.items():
    for name in names:
      if name in value and field not in fields:
        fields[field] = value[name]
        read.add(name)
  if form.strict:
    fields |= {name: x for name, x in value.items() if name not in read}
  elif "text" not in fields:
    columns = ", ".join(value)
    raise InputError(f"{place}: no {texts[0]!r}; expected it, as --columns says, among {columns}")
  return fields


def reviews(path: Path, attributes: Sequence[str]) -> Iterator[Item]:
  """Yields the line of each review, and a function that returns its fields.

  User and product are among them where they are attributes that are asked for.
  """
  wanted = ("label", "text", *attributes)
  for number, line in lines(path):
    if line.strip():
      yield f"line {number}", functools.partial(_review_fields, line, wanted)


def _review_fields(line: str, wanted: Sequence[str], place: str) -> Mapping[str, str]:
  parts = line.split("\t\t")
  if len(parts) != len(_REVIEW):
    raise InputError(
      f"{place}: {len(parts)} parts between two tabs; expected user, product, rating and text"
    )
  fields = dict(zip(_REVIEW, parts, strict=True))
  fields["label"] = fields["label"].strip()
  if not fields["label"].isdecimal():
    raise InputError(f"{place}: rating {fields['label']!r}; expected a whole number")
  fields["text"] = cleaned(fields["text"])
  return {name: x for name, x in fields.items() if name in wanted}


def cleaned(text: str) -> str:
  """Returns a review without marks of sentences and rare characters, in small letters."""
  text = text.replace(_END, " ").replace(" n't", "n't")
  return " ".join(_RARE.sub(" ", text).lower().split())
