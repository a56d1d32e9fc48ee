"""`luke-jax wiki types`."""

from typing import Annotated

from tyro.conf import Positional, arg

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.training.metrics import summary_line
from luke_jax.wiki.typed.build import write_typed


def run(
  tables: Annotated[Path, Positional, arg(metavar="TABLES")],
  /,
  *,
  output: Path,
  examples: int = 150_000,
) -> None:
  """Makes sentences with typed names out of a wiki's tables, to learn labels from.

  Types are what pages say that they are, and English words in and around names: Labour Party, the
  guitarist Jimi Hendrix, countries such as Chad, instruments such as flutes. Of other names nobody
  knows the type. The pages of dev are others than those of train.

      luke-jax wiki types tables --output typed
      luke-jax train labels --train typed/train.jsonl --dev typed/dev.jsonl --model english \\
        --output runs/labels

  Args:
    tables: Folder that `luke-jax wiki export` made, of English pages.
    output: Folder for train.jsonl and dev.jsonl.
    examples: Sentences to train on at most, a random part of all.
  """
  if examples < 1:
    raise InputError(f"--examples: {examples}; expected a whole number from 1")
  print(summary_line({**write_typed(tables, output, examples=examples), "output": str(output)}))
