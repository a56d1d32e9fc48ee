"""`luke-jax convert`."""

from typing import Annotated

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from tyro.conf import Positional, arg

from luke_jax.cli.stderr import stderr_console
from luke_jax.convert import text_side
from luke_jax.convert.card import ORIGIN, OURS, card_facts, with_record
from luke_jax.convert.parts import ModelParts
from luke_jax.convert.reading import read
from luke_jax.convert.saving import TRANSFORMERS, Form, number_of_tensors, save
from luke_jax.convert.tensors import Dtype
from luke_jax.errors import InputError
from luke_jax.files import Path, sizes
from luke_jax.text import load_entity_vocab


def run(
  source: Annotated[Path, Positional, arg(metavar="SOURCE")],
  target: Annotated[Path, Positional, arg(metavar="TARGET")],
  /,
  *,
  dtype: Dtype = "float32",
  form: Form = TRANSFORMERS,
  lite: bool = False,
  tokenizer: Path | None = None,
  entity_vocab: Path | None = None,
  backbone: Path | None = None,
) -> None:
  """Reads a model of any origin and writes it as a directory for luke_jax and transformers.

  The source is a Hugging Face directory (LUKE, mLUKE, or the RoBERTa or XLM-R that pretraining
  starts from), an archive of LUKE's authors, a directory of ERNIE's or TENER's authors, or an
  adapter.
  `luke_jax.load` and transformers 4 and 5 read the result.

      luke-jax convert luke_base_500k.tar.gz luke-base --tokenizer roberta-base

  Args:
    source: Directory or archive to read.
    target: Directory to write.
    dtype: Type of the numbers on disk.
    form: Names and files of the weights: pytorch writes pytorch_model.bin and, for an ERNIE, the
      ernie_config.json that its authors' programs read; those of Paddle are for an ERNIE of Baidu;
      fastnlp writes a pytorch_model.bin for the program of TENER's authors.
    lite: Keeps the special entities only.
    tokenizer: Directory with the tokenizer's files, if the source has none.
    entity_vocab: Entity vocabulary for a source that has no entities; their parts are initialised.
    backbone: Directory of the backbone of an adapter, if luke-jax get does not know it.
  """
  console = stderr_console()
  if target.exists() and target.resolve() == source.resolve():
    raise InputError(f"{target}: the source; expected another directory")
  vocab = load_entity_vocab(entity_vocab) if entity_vocab else None
  with console.status(f"reading {source}"):
    model = read(source, backbone=backbone, tokenizer=tokenizer, entity_vocab=vocab).merged
  if OURS not in model.rest:
    model = with_record(model, {"name": source.name, **card_facts(source)}, ORIGIN)
  _write(text_side.lite(model) if lite else model, target, form, dtype)


def _write(model: ModelParts, target: Path, form: Form, dtype: Dtype) -> None:
  columns = (TextColumn("writing"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
  with Progress(*columns, console=stderr_console(), transient=True) as progress:
    task = progress.add_task("", total=number_of_tensors(model))
    save(model, target, dtype=dtype, form=form, progress=lambda name: progress.advance(task))
  size = sum(sizes(target).values())
  print(f"{target}: {model.architecture}, {size / 1e6:,.0f} MB, {dtype}; {model.report}")
