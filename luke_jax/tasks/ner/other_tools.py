"""Files of other tools: read as ours if that is simple, otherwise refused by their name."""

import contextlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.tasks.files import lines, listed, read_json
from luke_jax.tasks.ner.tags import REPAIR, check_tag, chunks, illegal, is_tag, scheme_of
from luke_jax.tasks.ner.words import Reading

# What files are, by the ends of their names, and what is expected instead.
UNREAD = {
  ".parquet": "Parquet; expected JSON lines, as Dataset.to_json of Hugging Face writes them",
  ".arrow": "Arrow; expected JSON lines, as Dataset.to_json of Hugging Face writes them",
  ".spacy": "a DocBin of spaCy; expected JSON lines, doc.to_json() of each document",
}
LABEL_STUDIO = "a Label Studio export in JSON; expected its export as CONLL2003, a .conll file"
PAIRS = "pairs of a text and its entities, as for spaCy 2; expected an object on each line, as"
TAG_FIELDS = ("ner_tags", "tags")
SPAN_FIELDS = ("label", "labels", "entities", "ents")
_COMMA_AND_TAG = re.compile(r'[,;]"?(O|[BIES]-[^\s,;]+)"?')


def check_name(path: Path) -> None:
  """Raises InputError for a file that is not text, by its name."""
  if path.suffix in UNREAD and path.is_file():
    raise InputError(f"{path}: {UNREAD[path.suffix]}")


def check_separator(path: Path, rows: Sequence[Sequence[str]]) -> None:
  """Raises InputError if lines that were split at spaces and tabs are comma-separated values."""
  if path.suffix == ".csv":
    comma_separated = rows and re.search("[,;]", " ".join(rows[0])) and not is_tag(rows[0][-1])
  else:
    # The first line may name the columns.
    ends = (len(row) == 1 and _COMMA_AND_TAG.search(row[0]) for row in rows[1:])
    comma_separated = len(rows) > 2 and all(ends)
  if comma_separated:
    raise InputError(
      f"{path}: comma-separated values; expected tabs or spaces between a word and its tag, and an"
      " empty line after each sentence, or JSON lines with tokens and ner_tags"
    )


def check_json(path: Path) -> None:
  """Raises InputError for a file that is one value of JSON and not an object on each line."""
  first = next((line.strip() for _, line in lines(path) if line.strip()), "")
  if not first.startswith("[") and first != "{":
    return
  value = None
  with contextlib.suppress(InputError):  # lines, whose faults are reported one by one
    value = read_json(path)
  if isinstance(value, dict):
    raise InputError(f"{path}: an object over several lines; expected one on each, as jq -c writes")
  if isinstance(value, list):
    raise InputError(f"{path}: {_list(value)}")


def _list(items: list[Any]) -> str:
  """Returns a description of a list, and the form expected instead."""
  first = items[0] if items else None
  if isinstance(first, dict) and _is_label_studio(first):
    return LABEL_STUDIO
  if isinstance(first, list) and list(map(type, first)) == [str, dict]:
    return f"{PAIRS} jq -c '.[] | {{text: .[0], entities: .[1].entities}}' writes"
  return "a list in JSON; expected an object on each line, as jq -c '.[]' writes"


def _is_label_studio(value: Mapping[str, Any]) -> bool:
  if "data" in value and ("annotations" in value or "completions" in value):
    return True
  labels = value.get("label")
  return isinstance(labels, list) and any(isinstance(x, dict) and "labels" in x for x in labels)


def as_ours(
  value: Mapping[str, Any], place: str, reading: Reading, repaired: list[str]
) -> Mapping[str, Any]:
  """Returns the object with our `spans`, of one that Hugging Face, doccano or spaCy wrote.

  Tags that were read in spite of their places are added to `repaired`.
  """
  if "spans" in value:
    return value
  if _is_label_studio(value):
    raise InputError(f"{place}: {LABEL_STUDIO}")
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


def _tags(value: Mapping[str, Any], name: str, place: str, reading: Reading) -> list[str]:
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


def _span(span: Any, place: str) -> list[Any]:
  if isinstance(span, dict):
    edges = (span.get(name, span.get(f"{name}_offset")) for name in ("start", "end"))
    return [*edges, span.get("label")]
  if isinstance(span, list) and len(span) == 3:
    return span
  raise InputError(f"{place}: {span!r}; expected [start, end, label]")


def _sentences(value: Mapping[str, Any], place: str) -> dict[str, Any]:
  """Returns the sentences that spaCy has in `sents`."""
  if "sents" not in value:
    return {}
  spans = (x if isinstance(x, dict) else {} for x in listed(value, "sents", place))
  return {"sentences": [[span.get("start"), span.get("end")] for span in spans]}
