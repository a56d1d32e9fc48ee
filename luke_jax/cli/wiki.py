"""`luke-jax wiki build`, `join`, `mentions`, `show` and `export`."""

import dataclasses
import json
import sys
from collections.abc import Mapping
from typing import Annotated, Literal

import rich.progress
from tyro.conf import OmitArgPrefixes, Positional, UseAppendAction, arg

from luke_jax.errors import InputError
from luke_jax.files import Path, in_bucket, read_text
from luke_jax.terminal import Console
from luke_jax.wiki.export.export import export
from luke_jax.wiki.export.tables import Form
from luke_jax.wiki.mentions import MAX_TOKENS, TABLE, make_mentions
from luke_jax.wiki.read.wikidata import KINDS, SQL
from luke_jax.wiki.show import figures, figures_table, shown_records, write_html
from luke_jax.wiki.stages.build import RESULT, BuiltStages, StageName, build
from luke_jax.wiki.stages.engines import EngineOptions
from luke_jax.wiki.stages.mentions import Filter
from luke_jax.wiki.stages.multilingual_vocabulary import (
  EXPECTED,
  join,
  read_languages,
  selected_items,
  sitelinks,
  write_joined,
)
from luke_jax.wiki.stages.packing import RecordLimits
from luke_jax.wiki.stages.sources import Settings
from luke_jax.wiki.stages.vocabulary_stage import SPECIAL, Selection


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
    lines = [line.strip() for path in self.allowed for line in read_text(path).split("\n")]
    allowed = tuple(dict.fromkeys(line for line in lines if line))
    selection = Selection(self.entities, self.min_count, allowed, self.allowed_only)
    if self.vocabulary and selection != Selection():
      raise InputError(
        "--vocabulary: given with --entities, --min-count, --allowed or --allowed-only; expected"
        " a vocabulary or what one is chosen by"
      )
    return selection


def wiki_build(
  dumps: Annotated[tuple[Path, ...], Positional, arg(metavar="DUMP...")],
  /,
  *,
  tokenizer: Path,
  output: Path,
  language: str | None = None,
  paragraphs: Literal["lines", "sections"] = "lines",
  skip_bad_pages: bool = False,
  dense_links: bool = False,
  names: Path | None = None,
  leave_out: UseAppendAction[tuple[str, ...]] = (),
  until: StageName = RESULT,
  seed: int = 0,
  entities: OmitArgPrefixes[EntityOptions],
  records: OmitArgPrefixes[RecordLimits],
  engine: OmitArgPrefixes[EngineOptions],
) -> None:
  """Makes pretraining records from a Wikipedia dump, or from texts whose mentions it finds.

  The same command resumes after a stop. Stages that were made from the same dump and options are
  not made again. The folder `pretraining` of the output has the shuffled records and everything
  that reading them needs.

      luke-jax wiki build enwiki-pages-articles.xml.bz2 --tokenizer roberta --output wiki/en

  Args:
    dumps: Dump of a wiki's pages, .xml or that as .bz2, .gz, .xz or .zst, or all the files of one.
      Or texts without links: documents in <doc id="1" title="A">, JSON lines or Parquet with title
      and text, or a folder of Title.txt.
    tokenizer: Directory with a tokenizer.
    output: Folder for the stages and the result.
    language: Language of the dump, as a check; needed for texts and for other wikis.
    paragraphs: Unit of a paragraph: a line of the page, or a section.
    skip_bad_pages: Leaves out and counts pages that cannot be read; they are errors otherwise.
    dense_links: For dumps, also links a page's own names, and repeats of names that it links.
    names: For texts, a file of further names: lines of a name, a tab, and the title that it means.
    leave_out: For texts, a source of mentions to leave out: own-title, own-short, title or table.
    until: Last stage to make; luke-jax wiki join needs no more than `counts`.
    seed: Seed of the order of the records.
  """
  settings = Settings(
    dumps=dumps,
    tokenizer=tokenizer,
    language=language,
    sections=paragraphs == "sections",
    skip_bad_pages=skip_bad_pages,
    dense_links=dense_links,
    names=names,
    left_out=leave_out,
    selection=entities.selection(),
    vocabulary=entities.vocabulary,
    limits=records,
    seed=seed,
  )
  with engine.opened() as runner:
    result = build(settings, output, runner, until=until)
  if "vocabulary" in result.stages and not entities.vocabulary:
    report_fewer(entities.entities, result.stages["vocabulary"].counts["entities"], "pages")
  print(json.dumps({"folder": str(output / until), **_numbers(result, settings, until)}))


def _numbers(result: BuiltStages, settings: Settings, until: str) -> Mapping[str, float]:
  """Returns the counts of a build's last stage; of all stages in a table too, if it is whole."""
  if until != RESULT:
    return result.stages[until].counts
  numbers = figures(result, settings.limits)
  Console().print(figures_table(numbers))
  return numbers


def report_fewer(most: int, size: int, kind: str) -> None:
  """Prints how many entities there are, if there are fewer than `--entities` asked for."""
  if size < most:
    entities = (
      f"all {size - len(SPECIAL)} {kind} that may be entities and {len(SPECIAL)} special ones"
    )
    print(f"luke-jax: --entities {most}: the vocabulary has {size}, {entities}", file=sys.stderr)


def wiki_join(
  wikidata: Annotated[Path, Positional, arg(metavar="WIKIDATA")],
  builds: Annotated[tuple[Path, ...], Positional, arg(metavar="OUT...")],
  /,
  *,
  output: Path,
  min_languages: int = 3,
  entities: int = 1_200_000,
) -> None:
  """Joins the pages of several languages to one entity vocabulary, as multilingual LUKE has it.

  Pages about the same item of Wikidata share an id. Each language is first built until its counts,
  then joined, and then built to the end with the result.

      luke-jax wiki build nlwiki-pages-articles.xml.bz2 --tokenizer xlmr --output wiki/nl \\
        --until counts
      luke-jax wiki join wikidatawiki-wb_items_per_site.sql.gz wiki/en wiki/nl wiki/ja \\
        --output entities.jsonl
      luke-jax wiki build nlwiki-pages-articles.xml.bz2 --tokenizer xlmr --output wiki/nl \\
        --vocabulary entities.jsonl --unknown-entities skip

  Args:
    wikidata: Table wb_items_per_site.sql.gz of Wikidata, or its JSON dump, which takes a day.
    builds: Folders of luke-jax wiki build, one a language.
    output: File for the vocabulary, .jsonl.
    min_languages: Smallest number of languages in which an item is linked.
    entities: Largest size of the vocabulary, its three special entities included.
  """
  if not wikidata.name.endswith(SQL + KINDS):
    raise InputError(f"{wikidata}: not named as {', '.join(SQL + KINDS)}; {EXPECTED}")
  if not wikidata.is_file():
    raise InputError(f"{wikidata}: no such file; {EXPECTED}")
  _check_join(output, min_languages, len(builds), entities)
  languages = read_languages(builds)
  console = Console(stderr=True)
  with (
    wikidata.open("rb") as dump,
    rich.progress.wrap_file(
      dump,
      wikidata.stat().st_size,
      description=wikidata.name,
      console=console,
      disable=not console.is_terminal,
    ) as file,
  ):
    joined = join(sitelinks(file, wikidata, languages), languages, min_languages)
  selected = selected_items(joined, languages, entities)
  write_joined(output, selected, joined, languages)
  report_fewer(entities, len(selected) + len(SPECIAL), "items")
  titles = int((joined.starts[selected + 1] - joined.starts[selected]).sum())
  numbers = {"entities": len(selected) + len(SPECIAL), "titles": titles, "items": len(joined)}
  print(json.dumps({"file": str(output), **numbers}))


def _check_join(output: Path, min_languages: int, languages: int, entities: int) -> None:
  if output.suffix != ".jsonl":
    raise InputError(f"--output {output}: no name of a vocabulary; expected one in .jsonl")
  if not in_bucket(output) and not output.parent.is_dir():
    raise InputError(f"--output {output}: no folder {output.parent}; expected one")
  if not languages:
    raise InputError("OUT: missing; expected folders of luke-jax wiki build, one a language")
  if not 1 <= min_languages <= languages:
    raise InputError(
      f"--min-languages: {min_languages} with {languages} languages; expected a whole number"
      f" from 1 to {languages}"
    )
  if entities <= len(SPECIAL):
    raise InputError(f"--entities: {entities}; expected a whole number from {len(SPECIAL) + 1}")


def wiki_mentions(
  folder: Annotated[Path, Positional, arg(metavar="OUT")],
  /,
  *,
  max_tokens: int = MAX_TOKENS,
  further_names: bool = False,
  thresholds: OmitArgPrefixes[Filter],
  engine: OmitArgPrefixes[EngineOptions],
) -> None:
  """Makes the table of names in a build's folder: the pages that each links to, and how often.

  Names are compared without case and accents. The same command resumes. Another --max-tokens counts
  everything again; other thresholds use the same counts.

      luke-jax wiki mentions wiki/en --workers 4

  Args:
    folder: Folder of luke-jax wiki build.
    max_tokens: Largest number of tokens of a name.
    further_names: Adds names that are no links: titles, redirects, titles without parenthesis, bold
      names, and what disambiguations list; they weigh half a link or a quarter.
  """
  with engine.opened() as runner:
    stages = make_mentions(folder, thresholds, runner, max_tokens=max_tokens, further=further_names)
  print(json.dumps({"folder": str(folder / TABLE), **stages[TABLE].counts}))


def wiki_show(
  records: Annotated[Path, Positional, arg(metavar="RECORDS")],
  /,
  *,
  n: int = 3,
  html: Path | None = None,
) -> None:
  """Shows records as text with their entities marked, to check them before training.

  An entity of the vocabulary is followed by its title where the text has another name for it.
  Entities outside of the vocabulary have another colour.

      luke-jax wiki show wiki/en --n 3 --html records.html

  Args:
    records: Folder that `luke-jax wiki build` made, or the folder `pretraining` in it.
    n: Number of records.
    html: File for the same as a page of HTML, which needs no other file.
  """
  shown = shown_records(records, n)
  if html:
    write_html(shown, html)
  console = Console()
  for record in shown:
    console.print(record.as_text(), "", soft_wrap=not console.is_jupyter)
  if html:
    print(f"{html}: {len(shown)} records")


def wiki_export(
  folder: Annotated[Path, Positional, arg(metavar="OUT")],
  /,
  *,
  output: Path,
  items: Path | None = None,
  form: Form | None = None,
  engine: OmitArgPrefixes[EngineOptions],
) -> None:
  """Writes the pages, sentences and links of a build as tables for other programs, with a card.

  The tables are Parquet, which datasets of Hugging Face and pandas read, or lines of JSON. A page
  has what it says that it is; a link has its place, page, item and source. The command resumes.

      luke-jax wiki export wiki/en --items enwiki-page_props.sql.gz --output wiki-tables

  Args:
    folder: Folder of luke-jax wiki build, as far as its titles.
    output: Folder for the tables and README.md.
    items: File with the pages' items of Wikidata: the wiki's page_props.sql.gz or
      wb_items_per_site.sql.gz, a JSON dump of Wikidata, or lines of a title, a tab and a Qid.
    form: Form of the tables; without the option Parquet where pyarrow is installed, else jsonl.
  """
  with engine.opened() as runner:
    done = export(folder, output, runner, items=items, form=form)
  print(json.dumps({"folder": str(output), **done.counts}))
