"""`luke-jax wiki join`."""

import json
from typing import Annotated

import rich.progress
from rich.console import Console
from tyro.conf import Positional, arg

from luke_jax.cli.wiki_entities import report_fewer
from luke_jax.errors import InputError
from luke_jax.files import Path, in_bucket
from luke_jax.wiki.read.wikidata import check_name, read_items
from luke_jax.wiki.stages.multilingual_vocabulary import (
  join,
  most_linked,
  read_languages,
  write_joined,
)
from luke_jax.wiki.stages.vocabulary_stage import SPECIAL


def run(
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
      luke-jax wiki join latest-all.json.bz2 wiki/en wiki/nl wiki/ja --output entities.jsonl
      luke-jax wiki build nlwiki-pages-articles.xml.bz2 --tokenizer xlmr --output wiki/nl \\
        --vocabulary entities.jsonl --unknown-entities skip

  Args:
    wikidata: JSON dump of Wikidata, .json, .json.gz or .json.bz2.
    builds: Folders of luke-jax wiki build, one a language.
    output: File for the vocabulary, .jsonl.
    min_languages: Smallest number of languages in which an item is linked.
    entities: Largest size of the vocabulary, its three special entities included.
  """
  check_name(wikidata)
  _check(output, min_languages, len(builds), entities)
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
    joined = join(read_items(file, wikidata), languages, min_languages)
  selected = most_linked(joined, languages, entities)
  write_joined(output, selected, joined, languages)
  report_fewer(entities, len(selected) + len(SPECIAL), "items")
  titles = int((joined.starts[selected + 1] - joined.starts[selected]).sum())
  numbers = {"entities": len(selected) + len(SPECIAL), "titles": titles, "items": len(joined)}
  print(json.dumps({"file": str(output), **numbers}))


def _check(output: Path, min_languages: int, languages: int, entities: int) -> None:
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
