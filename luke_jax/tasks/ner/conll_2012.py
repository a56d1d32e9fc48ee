"""Files of CoNLL-2012, the form of OntoNotes 5: words in column 4 and names in column 11."""

import re

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.tasks.files import Faults, lines
from luke_jax.tasks.ner.columns import Document, Line, Sentence

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
      word, tag, label = _read(line.split(), label, place)
      sentence.lines.append(Line(number, word, tag))
      continue
    sentence.lines.append(Line(number, "_", "O"))
    sentence.sound, label = False, ""
  return [document for document in documents if document]


def _read(columns: list[str], inside: str, place: str) -> tuple[str, str, str]:
  """Returns the word of a line, its tag, and the label of the name that goes on after it."""
  if len(columns) <= _NAME:
    raise InputError(f"{place}: {len(columns)} columns; expected {_NAME + 1} or more")
  found = _PART.fullmatch(columns[_NAME])
  begins, ends = (found["label"], found["end"]) if found and columns[_NAME] else (None, None)
  if not found or (inside and begins) or (ends and not (inside or begins)):
    raise InputError(f"{place}: name {columns[_NAME]!r}; expected such as *, (GPE), (GPE* or *)")
  label = begins or inside
  tag = f"B-{begins}" if begins else f"I-{inside}" if inside else "O"
  return columns[_WORD], tag, "" if ends else label
