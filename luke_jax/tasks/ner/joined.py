"""Baidu's tables of named entities: a text on each line, its characters and its tags joined."""

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.tasks.files import lines
from luke_jax.tasks.ner.layout import Block, FileLine

JOINTS = ("\x02", "^B")  # between characters, and between tags
_HEADER = {"text_a", "label"}


def joined_blocks(path: Path) -> list[Block]:
  """Returns the rows of a table with the columns text_a and label; none for another file."""
  names: list[str] = []
  blocks: list[Block] = []
  for number, line in lines(path):
    fields = line.split("\t")
    if not names:
      if not set(fields) >= _HEADER:
        return []
      names = fields
    elif line.strip():
      blocks.append(_block(f"{path}: line {number}", number, names, fields))
  return blocks


def _block(place: str, number: int, names: list[str], fields: list[str]) -> Block:
  if len(fields) != len(names):
    raise InputError(f"{place}: {len(fields)} columns; expected {len(names)}: {', '.join(names)}")
  row = dict(zip(names, fields, strict=True))
  joint = next((x for x in JOINTS if x in row["label"]), JOINTS[0])
  words, tags = row["text_a"].split(joint), row["label"].split(joint)
  if len(words) != len(tags):
    raise InputError(
      f"{place}: {len(words)} characters and {len(tags)} tags; expected as many, joined by the"
      " control character 2"
    )
  return Block([FileLine(number, list(pair)) for pair in zip(words, tags, strict=True)])
