"""`luke-jax wiki build`."""

import dataclasses
import json
from pathlib import Path
from typing import Annotated, Literal

from rich.console import Console
from tyro.conf import OmitArgPrefixes, Positional, UseAppendAction, arg

from luke_jax.cli.wiki_engine import EngineOptions
from luke_jax.errors import InputError
from luke_jax.wiki.stages.build import RESULT, Settings, StageName, build
from luke_jax.wiki.stages.packing import Limits
from luke_jax.wiki.stages.summary import figures, table
from luke_jax.wiki.stages.vocabulary_stage import Selection, read_lists


@dataclasses.dataclass(frozen=True)
class EntityOptions:
  """Which pages are entities."""

  entities: int = 500_000
  """Size of the entity vocabulary, its three special entities included."""
  min_count: int = 0
  """How often a page is linked at least to become an entity."""
  allowed: UseAppendAction[tuple[Path, ...]] = ()
  """File of titles, one a line, that become entities first if they are linked at all."""
  allowed_only: bool = False
  """Make no other pages entities than those of the lists."""
  vocabulary: Path | None = None
  """Entity vocabulary to use instead of choosing one: .jsonl, .json or .tsv."""

  def selection(self) -> Selection:
    """The options as the build takes them."""
    allowed = read_lists(self.allowed)
    selection = Selection(self.entities, self.min_count, allowed, self.allowed_only)
    if self.vocabulary and selection != Selection():
      raise InputError(
        "--vocabulary: given with --entities, --min-count, --allowed or --allowed-only; expected"
        " a vocabulary or what one is chosen by"
      )
    return selection


@dataclasses.dataclass(frozen=True)
class RecordOptions:
  """What a record is."""

  max_words: int = 512
  """Word pieces of a record, the two special ones included."""
  max_entities: int = 128
  """Entities of a record; those after are left out."""
  max_mention: int = 30
  """Word pieces of an entity's name; those after are left out."""
  min_sentence: int = 5
  """Word pieces that a sentence has at least."""
  unknown_entities: Literal["keep", "skip"] = "keep"
  """Keep links to pages outside of the vocabulary as `[UNK]`, or skip them."""
  records_without_entities: bool = False
  """Keep records that no entity is in."""
  abstract_only: bool = False
  """Read only what stands before a page's first heading."""
  vocabulary_pages_only: bool = False
  """Read only pages that are entities themselves."""

  def limits(self) -> Limits:
    """The options as the build takes them."""
    keep = self.unknown_entities == "keep"
    return Limits(**dataclasses.asdict(self) | {"unknown_entities": keep})


def run(
  dumps: Annotated[tuple[Path, ...], Positional, arg(metavar="DUMP...")],
  /,
  *,
  tokenizer: Path,
  output: Path,
  language: str | None = None,
  paragraphs: Literal["lines", "sections"] = "lines",
  until: StageName = RESULT,
  seed: int = 0,
  entities: OmitArgPrefixes[EntityOptions],
  records: OmitArgPrefixes[RecordOptions],
  engine: OmitArgPrefixes[EngineOptions],
) -> None:
  """Make pretraining records of a Wikipedia dump, or go on with it: the same command resumes.

  What is there already and made of the same dump and options stays. The records, shuffled, and all
  that reading them needs are in the folder `pretraining` of the output.

      luke-jax wiki build enwiki-pages-articles.xml.bz2 --tokenizer roberta --output wiki/en

  Args:
    dumps: Dump of a wiki's pages, .xml or .xml.bz2, or all the files of one.
    tokenizer: Directory with a tokenizer.
    output: Folder for the stages and the result.
    language: The dump's language, to be sure; a wiki that is no Wikipedia needs it.
    paragraphs: What a paragraph is: a line of the page, or a section.
    until: The last stage to make; `counts` is all that luke-jax wiki join reads.
    seed: Of the order of the records.
  """
  settings = Settings(
    dumps=dumps,
    tokenizer=tokenizer,
    language=language,
    sections=paragraphs == "sections",
    selection=entities.selection(),
    vocabulary=entities.vocabulary,
    limits=records.limits(),
    seed=seed,
  )
  with engine.opened() as chosen:
    result = build(settings, output, chosen, until=until)
  if until == RESULT:
    numbers = figures(result, settings.limits)
    Console().print(table(numbers))
  else:
    numbers = result.stages[until].counts
  print(json.dumps({"folder": str(output / until), **numbers}))
