"""`luke-jax wiki export`."""

import json
from typing import Annotated

from tyro.conf import OmitArgPrefixes, Positional, arg

from luke_jax.files import Path
from luke_jax.wiki.export.export import export
from luke_jax.wiki.export.tables import Form
from luke_jax.wiki.stages.engines import EngineOptions


def run(
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
