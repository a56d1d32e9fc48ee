"""Entity vocabularies on disk: the authors' tsv and jsonl, and Hugging Face's json."""

import json
from collections.abc import Iterator

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.text.entity_vocab import LANGUAGE_KEY, SPECIAL, EntityVocab
from luke_jax.text.json_files import read_json_object, read_text, write_json

FILES = ("entity_vocab.json", "entity_vocab.tsv", "entity_vocab.jsonl", "tokenizer_config.json")
KINDS = "a .json, .jsonl or .tsv file"
RECORD = 'expected an object {"id": 7, "entities": [["Tokyo", "en"]], "count": 12}'


def load_entity_vocab(path: str | Path) -> EntityVocab:
  """Reads a vocabulary from a .json, .jsonl or .tsv file, or from the folder of a model."""
  path = Path(path)
  if not path.exists():
    raise InputError(f"{path}: no such file or directory; expected {KINDS}, or a model's directory")
  if path.is_dir():
    path = _file_in(path)
  try:
    if path.suffix == ".json":
      return _from_json(path)
    if path.suffix == ".jsonl":
      return _from_jsonl(path)
    if path.suffix == ".tsv":
      return _from_tsv(path)
  except InputError as error:
    raise InputError(str(error) if str(path) in str(error) else f"{path}: {error}") from None
  raise InputError(f"{path}: not an entity vocabulary; expected {KINDS}")


def save_entity_vocab(vocab: EntityVocab, path: str | Path) -> None:
  """Writes a vocabulary as Hugging Face's .json, or as the authors' .jsonl or .tsv.

  A count that is not known is written as 0; .json has no counts.
  """
  path = Path(path)
  if path.suffix == ".json":
    write_json(path, dict(sorted(vocab.ids.items(), key=lambda item: item[1])))
  elif path.suffix == ".jsonl":
    path.write_text("".join(_jsonl_lines(vocab)), encoding="utf-8")
  elif path.suffix == ".tsv":
    path.write_text("".join(_tsv_lines(vocab)), encoding="utf-8")
  else:
    raise InputError(f"{path}: cannot tell the format; expected a name in .json, .jsonl or .tsv")


def _file_in(directory: Path) -> Path:
  for name in FILES:
    if (directory / name).exists():
      return directory / name
  raise InputError(f"{directory}: no entity vocabulary; expected one of {', '.join(FILES)}")


def _from_json(path: Path) -> EntityVocab:
  keys = read_json_object(path, "an object of title -> id")
  if path.name == "tokenizer_config.json":  # transformers 5 writes the vocabulary in there
    keys = keys.get("entity_vocab")
    if not isinstance(keys, dict):
      raise InputError("no object 'entity_vocab' in it; expected one, or an entity_vocab.json")
  titles = [key for key in keys if key not in SPECIAL]
  if titles and all(key.startswith("None:") for key in titles):  # an old converter's slip
    keys = {key.removeprefix("None:"): id for key, id in keys.items()}
    return EntityVocab(keys)
  return EntityVocab(keys, multilingual=bool(titles) and all(map(LANGUAGE_KEY.match, titles)))


def _from_tsv(path: Path) -> EntityVocab:
  ids: dict[str, int] = {}
  counts = []
  for id, line in enumerate(_lines(path)):
    title, tab, count = line.rpartition("\t")
    if not tab or not title or not count.strip().isdecimal():
      raise InputError(f"{path}: line {id + 1} is {line!r}; expected title, tab, count")
    if ids.setdefault(title, id) != id:
      raise InputError(f"{path}: line {id + 1}: title {title!r} stands twice; expected it once")
    counts.append(int(count))
  return EntityVocab(ids, counts=counts)


def _from_jsonl(path: Path) -> EntityVocab:
  ids: dict[str, int] = {}
  counts: dict[int, int] = {}
  languages: set[str | None] = set()
  for number, line in enumerate(_lines(path), start=1):
    id, entities, count = _record(line, f"{path}: line {number}")
    if id in counts:
      raise InputError(f"{path}: line {number}: id {id} stands twice; expected one line for each")
    counts[id] = count
    for title, language in entities:
      is_special = title in SPECIAL
      key = title if is_special or language is None else f"{language}:{title}"
      if ids.setdefault(key, id) != id:
        raise InputError(
          f"{path}: line {number}: title {key!r} has id {ids[key]} already; expected one id"
        )
      if not is_special:
        languages.add(language)
  if None in languages and len(languages) > 1:
    raise InputError(f"{path}: titles with and without a language; expected one or the other")
  return EntityVocab(ids, bool(languages - {None}), [counts[id] for id in sorted(counts)])


def _record(line: str, where: str) -> tuple[int, list[tuple[str, str | None]], int]:
  try:
    record = json.loads(line)
    id, count = record["id"], record["count"]
    entities = [(title, language) for title, language in record["entities"]]
  except (ValueError, KeyError, TypeError):
    raise InputError(f"{where} is {line!r}; {RECORD}") from None
  titled = all(
    type(title) is str and (language is None or type(language) is str)
    for title, language in entities
  )
  if type(id) is not int or type(count) is not int or not titled:
    raise InputError(f"{where} is {line!r}; {RECORD}")
  return id, entities, count


def _lines(path: Path) -> list[str]:
  # Not splitlines: a title may hold one of the rarer line separators of Unicode.
  return read_text(path).removesuffix("\n").split("\n")


def _jsonl_lines(vocab: EntityVocab) -> Iterator[str]:
  counts = vocab.counts or [0] * len(vocab)
  for id, count in enumerate(counts):
    record = {"id": id, "entities": vocab.titles(id), "count": count}
    yield json.dumps(record, ensure_ascii=False) + "\n"


def _tsv_lines(vocab: EntityVocab) -> Iterator[str]:
  counts = vocab.counts or [0] * len(vocab)
  for id, count in enumerate(counts):
    titles = vocab.titles(id)
    if len(titles) > 1 or vocab.multilingual:
      raise InputError(
        f"entity id {id}: titles {titles}; expected one without a language, for .tsv holds no more"
      )
    yield f"{titles[0][0]}\t{count}\n"
