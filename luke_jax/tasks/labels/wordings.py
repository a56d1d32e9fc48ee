"""Labels as their users write them, and tables of the vectors that models know them by."""

import collections
import hashlib
import json
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path, is_there, whole
from luke_jax.formats.files import lines
from luke_jax.pipeline.reads import cached

TEXTS, VECTORS = "labels.json", "vectors.npy"  # of a folder; the first is written last
NONE = -1  # in the place of a label's number: no label
IN_MEMORY = "memory:"
KEPT = 8  # tables in memory
TAGS = {
  "PER": "person",
  "PERS": "person",
  "PERSON": "person",
  "LOC": "location",
  "ORG": "organization",
  "MISC": "miscellaneous",
  "GPE": "country, city or state",
  "FAC": "building",
  "NORP": "nationality, religion or political group",
  "PROD": "product",
  "WORK_OF_ART": "work of art",
  "VEH": "vehicle",
  "WEA": "weapon",
}  # of CoNLL-2003, OntoNotes, ACE and others
SHORTEST = 4  # letters of a word that is run together with another
_tables: "collections.OrderedDict[str, Wordings]" = collections.OrderedDict()


class Wordings:
  """Texts of labels by number, and a vector of length 1 for each."""

  def __init__(self, texts: Sequence[str], vectors: np.ndarray):
    self.texts, self.all_vectors = tuple(texts), vectors
    self.numbers = {text: number for number, text in enumerate(self.texts)}

  def vectors(self, numbers: np.ndarray) -> np.ndarray:
    """Returns the vectors of labels in float32, zeros for `NONE`."""
    found = np.asarray(self.all_vectors[np.maximum(numbers, 0)], np.float32)
    found[numbers == NONE] = 0
    return found


def write_wordings(folder: Path, texts: Sequence[str], vectors: np.ndarray) -> None:
  """Writes a folder of labels and their vectors."""
  folder.mkdir(parents=True, exist_ok=True)
  with whole(folder / VECTORS) as part, part.open("wb") as file:
    np.save(file, vectors.astype(np.float32), allow_pickle=False)
  with whole(folder / TEXTS) as part:
    part.write_text(json.dumps(list(texts), ensure_ascii=False), encoding="utf-8")


def keep_wordings(texts: Sequence[str], vectors: np.ndarray, reader: str) -> str:
  """Returns the name under which `open_wordings` finds a table that is in memory only.

  `reader` names the model that the vectors are from.
  """
  key = hashlib.sha256("\n".join((reader, *texts)).encode()).hexdigest()
  name = f"{IN_MEMORY}{key}"
  if name not in _tables:
    _tables[name] = Wordings(texts, vectors)
  _tables.move_to_end(name)
  while len(_tables) > KEPT:
    _tables.popitem(last=False)
  return name


def open_wordings(place: str) -> Wordings:
  """Returns the table of a folder, or one in memory."""
  return _tables[place] if place.startswith(IN_MEMORY) else _read(place)


@cached(4)
def _read(place: str) -> Wordings:
  folder = Path(place)
  try:
    texts = json.loads((folder / TEXTS).read_text(encoding="utf-8"))
    with (folder / VECTORS).open("rb") as file:
      return Wordings(texts, np.load(file, allow_pickle=False))
  except (OSError, ValueError) as fault:
    raise InputError(f"{folder}: {fault}; expected the labels of a run") from None


def in_words(label: str, is_word: Callable[[str], bool]) -> str:
  """Returns a label of annotators as words: PER, politicalparty, musical_artist, BookTitle.

  Others stay as they are. `is_word` tells what the reader knows as one word.
  """
  name, colon, about = label.partition(": ")
  if name in TAGS:
    name = TAGS[name]
  elif " " not in name:
    name = re.sub(r"(?<=[a-z])(?=[A-Z])|_+", " ", name).strip() or name
    if name.isalpha() and name.islower() and not is_word(name):
      splits = range(len(name) - SHORTEST, SHORTEST - 1, -1)
      found = ((name[:i], name[i:]) for i in splits)
      name = next((" ".join(x) for x in found if all(map(is_word, x))), name)
  return f"{name}{colon}{about}"


def warn_of_same(wordings: Mapping[str, str], read: Mapping[str, str]) -> None:
  """Warns of labels whose wordings are read as the same words, so that only one is ever found."""
  first: dict[str, str] = {}
  for name, wording in wordings.items():
    words = read[wording]
    if words in first:
      same = f"labels: {name!r:.60} is read as {first[words]!r:.60} is, {words!r:.60}"
      warnings.warn(f"{same}: names get the latter", stacklevel=2)
    first.setdefault(words, name)


def labels_in(text: str) -> tuple[str, ...]:
  """Returns the labels of a text, or of a file with one on each line.

  In a text they are set apart by semicolons or, if it has none, by commas.
  """
  file = Path(text)
  if file.suffix == ".txt":
    if not is_there(text):
      raise InputError(f"--labels: {text}: no such file; expected one with a label on each line")
    text = "".join(f"{line}\n" for _, line in lines(file))
  by_commas = not re.search(r"[;\n]", text)
  parts = re.split("," if by_commas else r"[;\n]", text)
  found = tuple(part.strip() for part in parts if part.strip())
  described = [": " in part for part in found]
  if by_commas and True in described and not all(after := described[described.index(True) :]):
    own = found[len(found) - len(after) + after.index(False)]
    warnings.warn(
      f"--labels: {own!r:.60} is a label of its own; semicolons between labels leave commas to"
      ' descriptions, as in "award: a prize, given for merit; ship"',
      stacklevel=2,
    )
  return found


def _named(text: str) -> tuple[str, str]:
  """Returns a label's name, and what is read of it."""
  name, equals, wording = text.partition("=")
  return (name, wording) if equals else (text.partition(": ")[0], text)


def wordings_of(labels: Iterable[str] | Mapping[str, str]) -> dict[str, str]:
  """Returns labels by name with what is read of each: the name, or "name: description".

  Of "PER=person" the name is PER, and what is read of it is what follows. They are in alphabetical
  order, so that the order that they are given in changes nothing. Raises InputError for no labels,
  for an empty one, and for two of one name.
  """
  if isinstance(labels, str):
    raise InputError(f"labels: {labels!r:.60}; expected a list of labels, or a mapping")
  if isinstance(labels, Mapping):
    for name, about in labels.items():
      if not isinstance(about, str | None):
        raise InputError(f"labels: {name}: {about!r:.60}; expected a description of words")
    pairs = [(name, f"{name}: {about}" if about else name) for name, about in labels.items()]
  else:
    pairs = [_named(text) if isinstance(text, str) else (text, text) for text in labels]
  found: dict[str, str] = {}
  seen: set[str] = set()
  for name, wording in pairs:
    if not isinstance(name, str) or not isinstance(wording, str) or not name.strip():
      raise InputError(f"labels: {name!r:.60}; expected a label of words")
    name, wording = name.strip(), " ".join(wording.split())
    if name.casefold() in seen:
      raise InputError(f"labels: {name!r}: twice; expected each label once")
    seen.add(name.casefold())
    found[name] = wording
  if not found:
    raise InputError('labels: none; expected some, such as ["person", "ship"]')
  return dict(sorted(found.items()))
