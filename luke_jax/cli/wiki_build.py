"""`luke-jax wiki build`."""

import json
import shlex
from pathlib import Path
from typing import Annotated, Literal

from rich.console import Console
from tyro.conf import Positional, UseAppendAction, arg

from luke_jax.errors import InputError
from luke_jax.wiki.build import RESULT, Settings, build
from luke_jax.wiki.engines import beam, local
from luke_jax.wiki.packing import Limits
from luke_jax.wiki.summary import figures, table
from luke_jax.wiki.vocabulary_stage import Selection, read_lists


def run(
  dumps: Annotated[tuple[Path, ...], Positional, arg(metavar="DUMP...")],
  /,
  *,
  tokenizer: Path,
  output: Path,
  language: str | None = None,
  entities: int = 500_000,
  min_count: int = 0,
  allowed: UseAppendAction[tuple[Path, ...]] = (),
  allowed_only: bool = False,
  vocabulary: Path | None = None,
  paragraphs: Literal["lines", "sections"] = "lines",
  max_words: int = 512,
  max_entities: int = 128,
  max_mention: int = 30,
  min_sentence: int = 5,
  unknown_entities: Literal["keep", "skip"] = "keep",
  records_without_entities: bool = False,
  abstract_only: bool = False,
  vocabulary_pages_only: bool = False,
  seed: int = 0,
  workers: int = 1,
  engine: Literal["local", "beam"] = "local",
  beam_options: str = "",
) -> None:
  """Make pretraining records of a Wikipedia dump, or go on with it: the same command resumes.

  What is there already and made of the same dump and options stays. The records, shuffled, and all
  that reading them needs are in the folder `pretraining` of the output.

      luke-jax wiki build enwiki-pages-articles.xml.bz2 --tokenizer roberta --output wiki/en

  Args:
    dumps: Dump of a wiki's pages, .xml or .xml.bz2, or all the files of one.
    tokenizer: Directory with a tokenizer.
    output: Folder for the stages and the result.
    language: The dump's language, to be sure: a dump in another one is refused.
    entities: Size of the entity vocabulary, its three special entities included.
    min_count: How often a page is linked at least to become an entity.
    allowed: File of titles, one a line, that become entities first if they are linked at all.
    allowed_only: Make no other pages entities than those of the lists.
    vocabulary: Entity vocabulary to use instead of choosing one: .jsonl, .json or .tsv.
    paragraphs: What a paragraph is: a line of the page, or a section.
    max_words: Word pieces of a record, the two special ones included.
    max_entities: Entities of a record; those after are left out.
    max_mention: Word pieces of an entity's name; those after are left out.
    min_sentence: Word pieces that a sentence has at least.
    unknown_entities: Keep links to pages outside of the vocabulary as `[UNK]`, or skip them.
    records_without_entities: Keep records that no entity is in.
    abstract_only: Read only what stands before a page's first heading.
    vocabulary_pages_only: Read only pages that are entities themselves.
    seed: Of the order of the records.
    workers: Processes of the local engine.
    engine: Who makes the shards: processes of this machine, or an Apache Beam runner.
    beam_options: Flags of the Beam runner in one string, such as "--runner=FlinkRunner".
  """
  settings = Settings(
    dumps=dumps,
    tokenizer=tokenizer,
    language=language,
    sections=paragraphs == "sections",
    selection=Selection(entities, min_count, read_lists(allowed), allowed_only),
    vocabulary=vocabulary,
    limits=Limits(
      max_words=max_words,
      max_entities=max_entities,
      max_mention=max_mention,
      min_sentence=min_sentence,
      unknown_entities=unknown_entities == "keep",
      records_without_entities=records_without_entities,
      abstract_only=abstract_only,
      vocabulary_pages_only=vocabulary_pages_only,
    ),
    seed=seed,
  )
  if beam_options and engine != "beam":
    raise InputError("--beam-options: without --engine beam; expected both or neither")
  with local(workers) if engine == "local" else beam(shlex.split(beam_options)) as chosen:
    result = build(settings, output, chosen)
  numbers = figures(result, settings.limits)
  Console().print(table(numbers))
  print(json.dumps({"folder": str(output / RESULT), **numbers}))
