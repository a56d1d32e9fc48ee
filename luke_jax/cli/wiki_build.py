"""`luke-jax wiki build`."""

import dataclasses
import json
from typing import Annotated, Literal

from rich.console import Console
from tyro.conf import OmitArgPrefixes, Positional, UseAppendAction, arg

from luke_jax.cli.wiki_engine import EngineOptions
from luke_jax.cli.wiki_entities import report_fewer
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.wiki.stages.build import RESULT, Settings, StageName, build
from luke_jax.wiki.stages.packing import Limits
from luke_jax.wiki.stages.summary import figures, table
from luke_jax.wiki.stages.vocabulary_stage import Selection, read_lists


@dataclasses.dataclass(frozen=True)
class EntityOptions:
  """Options for the pages that become entities."""

  entities: int = 500_000
  """Largest size of the entity vocabulary, its three special entities included."""
  min_count: int = 0
  """Smallest number of links to a page that becomes an entity."""
  allowed: UseAppendAction[tuple[Path, ...]] = ()
  """File of titles, one a line, whose pages become entities first if they are linked at all."""
  allowed_only: bool = False
  """Makes entities only of the pages in the lists."""
  vocabulary: Path | None = None
  """Existing entity vocabulary to use, .jsonl, .json or .tsv, instead of selecting entities."""

  def selection(self) -> Selection:
    """Returns the options as the build needs them."""
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
  """Options for the size and content of records."""

  max_words: int = 512
  """Largest number of word pieces in a record, the two special ones included."""
  max_entities: int = 128
  """Largest number of entities in a record; those after are left out."""
  max_mention: int = 30
  """Largest number of word pieces in an entity's name; those after are left out."""
  min_sentence: int = 5
  """Smallest number of word pieces in a sentence."""
  unknown_entities: Literal["keep", "skip"] = "keep"
  """Keeps links to pages outside of the vocabulary as `[UNK]`, or skips them."""
  records_without_entities: bool = False
  """Keeps records without an entity."""
  abstract_only: bool = False
  """Reads only the text before a page's first heading."""
  vocabulary_pages_only: bool = False
  """Reads only pages that are entities themselves."""

  def limits(self) -> Limits:
    """Returns the options as the build needs them."""
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
  skip_bad_pages: bool = False,
  until: StageName = RESULT,
  seed: int = 0,
  entities: OmitArgPrefixes[EntityOptions],
  records: OmitArgPrefixes[RecordOptions],
  engine: OmitArgPrefixes[EngineOptions],
) -> None:
  """Makes pretraining records from a Wikipedia dump; the same command resumes after a stop.

  Stages that were made from the same dump and options are not made again. The folder `pretraining`
  of the output has the shuffled records and everything that reading them needs.

      luke-jax wiki build enwiki-pages-articles.xml.bz2 --tokenizer roberta --output wiki/en

  Args:
    dumps: Dump of a wiki's pages, .xml or that as .bz2, .gz, .xz or .zst, or all the files of one.
    tokenizer: Directory with a tokenizer.
    output: Folder for the stages and the result.
    language: Language of the dump, as a check; required for a wiki that is no Wikipedia.
    paragraphs: Unit of a paragraph: a line of the page, or a section.
    skip_bad_pages: Leaves out and counts pages that cannot be read; they are errors otherwise.
    until: Last stage to make; luke-jax wiki join needs no more than `counts`.
    seed: Seed of the order of the records.
  """
  settings = Settings(
    dumps=dumps,
    tokenizer=tokenizer,
    language=language,
    sections=paragraphs == "sections",
    skip_bad_pages=skip_bad_pages,
    selection=entities.selection(),
    vocabulary=entities.vocabulary,
    limits=records.limits(),
    seed=seed,
  )
  with engine.opened() as runner:
    result = build(settings, output, runner, until=until)
  if "vocabulary" in result.stages and not entities.vocabulary:
    report_fewer(entities.entities, result.stages["vocabulary"].counts["entities"], "pages")
  if until == RESULT:
    numbers = figures(result, settings.limits)
    Console().print(table(numbers))
  else:
    numbers = result.stages[until].counts
  print(json.dumps({"folder": str(output / until), **numbers}))
