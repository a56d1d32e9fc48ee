"""Metadata of a folder of pretraining records: `metadata.json`."""

import dataclasses
import hashlib
import json
import tempfile
from collections.abc import Callable
from typing import Any, NamedTuple

from luke_jax.errors import InputError
from luke_jax.files import Path, read_json, read_json_object, sizes, write_json
from luke_jax.text import Tokenizer, load_tokenizer
from luke_jax.text.tokenizer_files import VOCAB

METADATA = "metadata.json"
MANIFEST = "manifest.json"  # of the build, which has the bytes of each file
CODE = 1  # version of the format


class StoredFile(NamedTuple):
  """A file of records: its name in the folder, and the number of its records."""

  name: str
  records: int


@dataclasses.dataclass(frozen=True)
class Metadata:
  """Sizes and vocabularies of the records of a folder."""

  records: int
  files: tuple[StoredFile, ...]
  max_words: int  # of a record, with its special tokens
  max_entities: int
  max_mention: int  # words of a mention
  min_sentence: int  # words; shorter sentences were dropped
  language: str | None
  vocab_size: int
  entity_vocab_size: int
  tokenizer: str  # `tokenizer_hash` of the tokenizer that made the word ids
  code: int = CODE


def read_metadata(folder: str | Path) -> Metadata:
  """Reads the metadata of a folder of records."""
  path = Path(folder) / METADATA
  if not path.is_file():
    raise InputError(
      f"{folder}: no {METADATA}; expected a folder of records that `luke-jax wiki build` wrote"
    )
  values = read_json_object(path, "an object with the metadata of records")
  if values.get("code") != CODE:
    raise InputError(f"{path}: code {values.get('code')!r}; expected {CODE}, records built again")
  for name, (fits, expected) in _FIELDS.items():
    if not fits(values.get(name)):
      raise InputError(f"{path}: {name} {values.get(name)!r}; expected {expected}")
  files = tuple(StoredFile(file["name"], file["records"]) for file in values["files"])
  total = sum(file.records for file in files)
  if total != values["records"]:
    raise InputError(f"{path}: records {values['records']}; expected {total}, those of its files")
  return Metadata(files=files, **{name: values[name] for name in _FIELDS if name != "files"})


def check_files(folder: str | Path, metadata: Metadata) -> None:
  """Raises InputError for a file of records that is missing, empty, or not of its size.

  The build's manifest has the sizes; records from elsewhere may have none.
  """
  there = sizes(Path(folder))
  manifest = read_json(Path(folder) / MANIFEST)
  built = manifest.get("files", {}) if isinstance(manifest, dict) else {}
  for name, records in metadata.files:
    path = Path(folder) / name
    if name not in there:
      raise InputError(f"{path}: no such file; expected the {records} records of {METADATA}")
    if there[name] != (wanted := built.get(name, there[name])) or (records and not there[name]):
      expected = f"{wanted}, as {MANIFEST} has them" if wanted else f"{records} records"
      raise InputError(f"{path}: {there[name]} bytes; expected {expected}: copy or build it again")


def write_metadata(metadata: Metadata, folder: str | Path) -> None:
  """Writes the metadata of a folder atomically."""
  path = Path(folder) / METADATA
  files = [file._asdict() for file in metadata.files]
  write_json(path, {**dataclasses.asdict(metadata), "files": files})


def tokenizer_hash(source: Tokenizer | str | Path) -> str:
  """Returns the SHA-256 of a tokenizer's vocabulary, equal wherever ids mean the same words.

  `source` is a tokenizer or a directory with one. Entity markers and other added tokens, which are
  in no record, do not count.
  """
  tokenizer = load_tokenizer(source) if isinstance(source, str | Path) else source
  digest = hashlib.sha256()
  with tempfile.TemporaryDirectory() as folder:
    tokenizer.save_vocab(Path(folder))
    for path in sorted(Path(folder).iterdir()):
      digest.update(path.name.encode() + b"\n" + _content(path))
  return digest.hexdigest()


def _content(path: Path) -> bytes:
  """Returns the content of a vocabulary's file, independent of how a library formats it."""
  if path.name == VOCAB:
    ids = json.loads(path.read_text(encoding="utf-8"))
    return json.dumps(sorted(ids.items(), key=lambda item: item[1])).encode()
  if path.suffix == ".txt":
    lines = path.read_bytes().split(b"\n")
    return b"\n".join(line for line in lines if line and not line.startswith(b"#version"))
  return path.read_bytes()


def _is_count(least: int) -> tuple[Callable[[Any], bool], str]:
  return lambda value: type(value) is int and value >= least, f"a whole number from {least}"


def _is_file(value: Any) -> bool:
  fits, _ = _is_count(0)
  has_name = isinstance(value, dict) and isinstance(value.get("name"), str)
  # A name with a folder in it could refer to files outside of this one.
  return has_name and value["name"] == Path(value["name"]).name and fits(value.get("records"))


_FIELDS: dict[str, tuple[Callable[[Any], bool], str]] = {
  "records": _is_count(1),
  "files": (
    lambda value: isinstance(value, list) and all(map(_is_file, value)),
    'a list of {"name": "records-00000-of-00001.array_record", "records": 12}',
  ),
  "max_words": _is_count(3),
  "max_entities": _is_count(1),
  "max_mention": _is_count(1),
  "min_sentence": _is_count(0),
  "language": (lambda value: value is None or isinstance(value, str), "a language's code or null"),
  "vocab_size": _is_count(1),
  "entity_vocab_size": _is_count(1),
  "tokenizer": (lambda value: isinstance(value, str), "the digest of a tokenizer"),
}
