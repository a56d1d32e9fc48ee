"""Files of other tools and of CoNLL-2012: read as ours, or refused by the tool's name."""

import contextlib
import re
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.tasks import label_studio
from luke_jax.tasks.files import Faults, lines, listed, read_json
from luke_jax.tasks.ner.columns import Document, Line, Sentence
from luke_jax.tasks.ner.documents import Reading
from luke_jax.tasks.ner.tags import REPAIR, check_tag, chunks, illegal, scheme_of
from luke_jax.tasks.tables import is_table, read_table

DOC_BIN = ".spacy"
TAG_FIELDS = ("ner_tags", "tags")
SPAN_FIELDS = ("label", "labels", "entities", "ents")


def read_list(path: Path) -> list[Any] | None:
  """Returns the items of a list in JSON, a table, or documents of spaCy; None for lines."""
  if path.suffix == DOC_BIN:
    return _documents(path)
  if is_table(path):
    return read_table(path)
  first = next((line.strip() for _, line in lines(path) if line.strip()), "")
  if not first.startswith("[") and first != "{":
    return None
  value = None
  with contextlib.suppress(InputError):  # lines, whose faults are reported one by one
    value = read_json(path)
  if isinstance(value, dict):
    raise InputError(f"{path}: an object over several lines; expected one on each, as jq -c writes")
  return value if isinstance(value, list) else None


def _documents(path: Path) -> list[object]:
  """Returns the documents of spaCy's binary form, read by spaCy."""
  try:
    import spacy
    from spacy.tokens import DocBin
  except ImportError:
    expected = "expected spaCy with it, pip install spacy, or doc.to_json() of each document"
    raise InputError(f"{path}: a DocBin of spaCy; {expected}, as JSON lines") from None
  try:
    docs = DocBin().from_disk(path).get_docs(spacy.blank("xx").vocab)
    return [doc.to_json() for doc in docs]
  except (OSError, ValueError, KeyError, zlib.error) as fault:
    raise InputError(f"{path}: {fault}; expected a DocBin of spaCy") from None


def as_object(item: object, place: str) -> Mapping[str, object]:
  """Returns the object of a list's item, which for spaCy 2 is a pair of a text and its entities."""
  if isinstance(item, list) and list(map(type, item)) == [str, dict]:
    return {"text": item[0], "entities": item[1].get("entities", [])}
  if not isinstance(item, dict):
    raise InputError(f"{place}: a {type(item).__name__}; expected an object")
  return item


def as_ours(
  value: Mapping[str, object], place: str, reading: Reading, repaired: list[str]
) -> Mapping[str, Any]:
  """Returns the object with our `spans`, of one that Hugging Face, doccano or spaCy wrote.

  Tags that were read in spite of their places are added to `repaired`.
  """
  if "spans" in value:
    return value
  if label_studio.is_export(value):
    return label_studio.as_ours(value, place)
  ours = {name: value[name] for name in ("sentences",) if name in value}
  if "tokens" in value:
    for name in TAG_FIELDS:
      if name in value:
        tags = _tags(value, name, place, reading)
        _check_tags(tags, f"{place}: {name}", reading.repair_tags, repaired)
        return ours | {"tokens": value["tokens"], "spans": list(map(list, chunks(tags)))}
  if "text" in value:
    for name in SPAN_FIELDS:
      if name in value:
        spans = [_span(span, f"{place}: {name}") for span in listed(value, name, place)]
        return ours | _sentences(value, place) | {"text": value["text"], "spans": spans}
  return value


def _tags(value: Mapping[str, object], name: str, place: str, reading: Reading) -> list[str]:
  tokens, tags = listed(value, "tokens", place), listed(value, name, place)
  if len(tags) != len(tokens):
    raise InputError(f"{place}: {name}: {len(tags)}; expected {len(tokens)}, one for each token")
  return [_tag(tag, reading.tag_names, f"{place}: {name}") for tag in tags]


def _tag(tag: Any, names: Sequence[str], place: str) -> str:
  if type(tag) is not int:
    check_tag(tag if isinstance(tag, str) else repr(tag), place)
    return tag
  if not names:
    raise InputError(
      f"{place}: {tag}, a number; expected tags such as B-PER, or the numbers' names in order:"
      " --tag-names O,B-PER,I-PER (in training --set task.tag_names=O,B-PER,I-PER)"
    )
  if not 0 <= tag < len(names):
    raise InputError(f"{place}: {tag}; expected a number from 0 to {len(names) - 1}, as tag names")
  return names[tag]


def _check_tags(tags: Sequence[str], place: str, repair: bool, repaired: list[str]) -> None:
  for word, fault in illegal(tags, scheme_of([tags])):
    message = f"{place}: token {word}: {fault}"
    if not repair:
      raise InputError(f"{message}; {REPAIR}")
    repaired.append(message)


def _span(span: object, place: str) -> list[Any]:
  if isinstance(span, dict):
    edges = (span.get(name, span.get(f"{name}_offset")) for name in ("start", "end"))
    return [*edges, span.get("label")]
  if isinstance(span, list) and len(span) == 3:
    return span
  raise InputError(f"{place}: {span!r}; expected [start, end, label]")


def _sentences(value: Mapping[str, object], place: str) -> dict[str, object]:
  """Returns the sentences that spaCy has in `sents`."""
  if "sents" not in value:
    return {}
  spans = (x if isinstance(x, dict) else {} for x in listed(value, "sents", place))
  return {"sentences": [[span.get("start"), span.get("end")] for span in spans]}


BEGIN, END = "#begin document", "#end document"
_WORD, _NAME = 3, 10  # columns, from 0
# A name begins as (GPE, ends with ), and a word of it is *; those of one word are (GPE).
_PART = re.compile(r"(?:\((?P<label>[^()*\s]+))?\*?(?P<end>\))?")


def is_conll_2012(path: Path) -> bool:
  """Returns whether the first line that is not empty begins a document as in CoNLL-2012."""
  return next((line.startswith(BEGIN) for _, line in lines(path) if line.strip()), False)


def read_conll_2012(path: Path, faults: Faults) -> list[Document]:
  """Returns the sentences of each document, with the tags that its brackets are as IOB2."""
  documents: list[Document] = []
  sentence, label = Sentence(), ""
  for number, line in lines(path):
    place = f"{path}: line {number}"
    if line.startswith("#") or not line.strip():
      if label and sentence.sound:
        sentence.sound = False
        with faults.caught():
          raise InputError(f"{place}: the name of {label!r} has no end; expected ) before")
      sentence, label = Sentence(), ""
      if line.startswith(BEGIN):
        documents.append([])
      continue
    if not sentence.lines:
      documents[-1].append(sentence)
    with faults.caught():
      word, tag, label = _read_name(line.split(), label, place)
      sentence.lines.append(Line(number, word, tag))
      continue
    sentence.lines.append(Line(number, "_", "O"))
    sentence.sound, label = False, ""
  return [document for document in documents if document]


def _read_name(columns: list[str], inside: str, place: str) -> tuple[str, str, str]:
  """Returns the word of a line, its tag, and the label of the name that goes on after it."""
  if len(columns) <= _NAME:
    raise InputError(f"{place}: {len(columns)} columns; expected {_NAME + 1} or more")
  match = _PART.fullmatch(columns[_NAME])
  begins, ends = (match["label"], match["end"]) if match and columns[_NAME] else (None, None)
  if not match or (inside and begins) or (ends and not (inside or begins)):
    raise InputError(f"{place}: name {columns[_NAME]!r}; expected such as *, (GPE), (GPE* or *)")
  label = begins or inside
  tag = f"B-{begins}" if begins else f"I-{inside}" if inside else "O"
  return columns[_WORD], tag, "" if ends else label
