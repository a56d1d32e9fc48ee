"""Commands on the shards of a corpus, and `luke-jax embed`."""

import functools
import time
from collections.abc import Callable, Sequence
from typing import Annotated

import jax
from tyro.conf import OmitArgPrefixes, Positional, arg

from luke_jax.convert.reading import read
from luke_jax.errors import InputError
from luke_jax.files import Path, check_place, is_there
from luke_jax.formats.shards import ARRAY, PACKED
from luke_jax.inference import corpus
from luke_jax.inference.text_vectors import Pool
from luke_jax.runs.models import backbone_of, model_directory
from luke_jax.wiki.stages.engines import EngineOptions


def is_corpus(sources: Sequence[str], output: str) -> bool:
  """Returns whether a command is given shards, or a folder for them."""
  (first, *others) = sources
  if others or output.endswith("/") or (output and Path(output).is_dir()):
    return True
  return is_there(first) and (Path(first).is_dir() or first.endswith(PACKED))


def answer_shards(
  sources: Sequence[str],
  output: str,
  directory: Path,
  opened: Callable[[], corpus.Answerer],
  options: Sequence[str],
  engine: EngineOptions,
  *,
  skip_bad: bool,
) -> None:
  """Makes the shards of a corpus with answers, and prints how many texts they have."""
  if not output or (Path(output).suffix and not output.endswith("/") and not Path(output).is_dir()):
    given = f"{output}: a file" if output else "missing"
    raise InputError(f"--output: {given}; expected a folder for the shards, such as answers/")
  folder = Path(output).resolve()
  work = corpus.AnsweredShard(folder, corpus.shards_of(sources, folder), opened, skip_bad)
  opened()  # so that what is wrong with a model or an option is said at once
  if engine.workers > 1 and engine.engine == "local" and jax.default_backend() != "cpu":
    raise InputError(f"--workers: {engine.workers} on a {jax.default_backend()}; expected 1")
  state = {"model": corpus.state_of(model_directory(directory)), "options": [*options, skip_bad]}
  begun = time.monotonic()
  with engine.opened() as run:
    done = corpus.answer_corpus(work, run, state)
  took = f" in {time.monotonic() - begun:.0f} s" if done.fresh else ", made before"
  print(f"{output}: {done.counts['texts']:,} texts in {len(work.shards):,} shards{took}")
  if faulty := done.counts["faulty"]:
    print(f"{faulty:,} faulty rows are in the files *{corpus.FAULTY}")


def embed(
  directory: Annotated[Path, Positional, arg(metavar="MODEL")],
  sources: Annotated[tuple[str, ...], Positional, arg(metavar="SHARDS")],
  /,
  *,
  output: Annotated[str, arg(metavar="PATH")],
  pool: Pool = "mean",
  skip_bad: bool = False,
  engine: OmitArgPrefixes[EngineOptions],
) -> None:
  """Writes vectors of texts, or of the names in them.

  In the folder --output each shard becomes one with a column more: `vector`, or `vectors` of its
  spans, those of the column `spans`, or `prediction` as luke-jax predict writes it.

      luke-jax embed english corpus/ --output vectors/
      luke-jax embed english texts.txt --output vectors.npy

  Args:
    directory: Directory or name of a model, or the folder of the run that made it.
    sources: Shards: Parquet, Arrow, .jsonl or .txt, also as .gz or .zst; or folders.
    output: Folder for the shards; or for those of one file, as an array, a name that ends in .npy.
    pool: The mean of the states of a text's pieces, or the first; of a span the mean of its ends,
      or its entity.
    skip_bad: Writes rows that are faulty apart, and counts them.
  """
  opened = functools.partial(_embedder, directory, pool)
  if not output.endswith(ARRAY):
    answer_shards(sources, output, directory, opened, [pool], engine, skip_bad=skip_bad)
    return
  path = Path(output)
  check_place(path)
  if len(shards := corpus.shards_of(sources, path)) > 1:
    raise InputError(f"--output: {output}: for {len(shards)} shards; expected a folder")
  shard = shards[0]._replace(name=path.name)
  counts = corpus.AnsweredShard(path.parent, [shard], opened, skip_bad)(0)
  print(f"{output}: vectors of {counts['texts']:,} texts, {counts['faulty']:,} faulty rows")


@functools.lru_cache(maxsize=1)  # a process reads several shards
def _embedder(directory: Path, pool: Pool) -> corpus.Answerer:
  return corpus.embedder(read(model_directory(directory), backbone=backbone_of(directory)), pool)
