"""The card of an exported folder, which Hugging Face's hub and `datasets` read."""

from collections.abc import Mapping
from typing import Any

from luke_jax.wiki.export.rows import COLUMNS, ExportedLink, columns_of
from luke_jax.wiki.export.tables import SUFFIXES, Form
from luke_jax.wiki.stages.stage import Done

_HEAD = """---
language: {language}
license: {licence}
task_categories: [token-classification, text-classification]
tags: [entity-linking, wikipedia]
configs:
{configs}---
"""
_BODY = """
# {name}: pages, sentences and links

Made by `luke-jax wiki export`. The text is that of {name}: of a Wikipedia it may be passed on under
CC BY-SA 4.0 with the names of its authors, for whom each page's id stands
(`https://{language}.wikipedia.org/?curid=ID`). Of another source's text, put its licence here.

| table | rows |
|---|---|
{rows}

{items} Links that go over two sentences are in no table: {dropped:,}.

## To read

```python
from datasets import load_dataset

sentences = load_dataset(FOLDER, "sentences", split="train")
```

```python
import pandas

pages = pandas.{pandas}
```

```python
from luke_jax.wiki.export.read import read_pages, read_sentences

types = {{page.title: page.type_phrase for page in read_pages(FOLDER, text=False)}}
for sentence in read_sentences(FOLDER, linked=True):
  for link in sentence.links:
    assert sentence.text[link.start : link.end] == link.text
```
"""
_ALSO = """
## {table}

| column | type | |
|---|---|---|
{rows}
"""


def card(site: Mapping[str, Any], done: Done, form: Form, items: bool) -> str:
  """Returns the card of a folder with the tables of a finished stage."""
  suffix, language, counts = SUFFIXES[form], site["language"], done.counts
  configs = "".join(
    f"  - config_name: {table}\n    data_files: data/{table}-*{suffix}\n" for table in COLUMNS
  )
  first = f"{{FOLDER}}/data/pages-00000-of-{len(done.shards):05}{suffix}"
  read = f'read_parquet(f"{first}")' if form == "parquet" else f'read_json(f"{first}", lines=True)'
  name = site["database"] or language
  body = _BODY.format(
    name=name,
    language=language,
    rows="\n".join(f"| {table} | {counts.get(table, 0):,} |" for table in COLUMNS),
    items="Items are those of Wikidata." if items else "No items of Wikidata were given.",
    dropped=counts.get("dropped: links across sentences", 0),
    pandas=read,
  )
  tables = {**COLUMNS, "links of a sentence": columns_of(ExportedLink)}
  also = [
    _ALSO.format(
      table=table,
      rows="\n".join(f"| {column} | {kind} | {about} |" for column, (kind, about) in of.items()),
    )
    for table, of in tables.items()
  ]
  licence = "cc-by-sa-4.0" if name == f"{language}wiki" else "other"
  head = _HEAD.format(language=language, configs=configs, licence=licence)
  return head + body + "".join(also)
