"""Examples of a split and their rows, read once for all evaluations."""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.models.system import Backbone
from luke_jax.pipeline.reads import cached
from luke_jax.tasks.files import Faults, Share, used_share, without_held_out
from luke_jax.text import Processor, Row, load_entity_vocab, load_tokenizer
from luke_jax.text.entity_vocab import MASK2, SPECIAL_ENTITIES
from luke_jax.text.processor_files import has_entity_vocab
from luke_jax.text.unknown import counted

if TYPE_CHECKING:
  from luke_jax.tasks.fine_tuning import FineTunedTask

Example = TypeVar("Example")


@dataclasses.dataclass(frozen=True)
class TaskRows(Generic[Example]):
  """The rows of a split, and the examples they are of."""

  examples: Sequence[Example]
  rows: Sequence[Row]

  def __len__(self) -> int:
    return len(self.rows)

  def __getitem__(self, index: int) -> Row:
    return self.rows[index]


@cached(4)
def processor_of_words(
  directory: str, new_words: tuple[str, ...], table: str, markers: bool
) -> Processor:
  """Returns the processor of a directory, with words added to its tokenizer."""
  tokenizer = load_tokenizer(directory, markers=markers)
  # A language model that LUKE is compared with has no entities.
  with_titles = table == "whole" and has_entity_vocab(Path(directory))
  vocab = load_entity_vocab(directory) if with_titles else SPECIAL_ENTITIES
  if vocab.mask2_id is None:  # models are given one as they are loaded
    vocab = vocab.add([MASK2])
  return Processor(tokenizer.with_words(new_words) if new_words else tokenizer, vocab)


@cached(4)  # every evaluation asks for them
def rows_of(
  task: "FineTunedTask[Example, Any]", backbone: Backbone, split: str
) -> TaskRows[Example]:
  """Returns the rows of a task's split."""
  held_out = task.held_out > 0 and not task.dev and split in ("train", "dev")
  path, faults = task.splits.get("train" if held_out else split), Faults(skip=task.skip_bad)
  if path is None:
    raise InputError(f"task.{split}: empty; expected a file of examples")
  examples = task.check(task.read_examples(path, faults), faults)
  if held_out:
    share = Share(task.held_out, task.fold)
    examples = without_held_out(examples, share, split, path)
  if split == "train" and task.used < 1:
    examples = used_share(examples, task.used)
  if not examples:
    raise InputError(f"{path}: no examples with answers; expected one at least")
  reads, counting = counted(task.processor(backbone))
  rows = TaskRows(examples, task.features(reads, examples, faults))
  counting.warn(path)
  faults.warn(path)
  return rows
