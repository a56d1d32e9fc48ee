"""`luke-jax link`, and `luke-jax entities` `describe`, `own` and `resolve`."""

import dataclasses
import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import numpy as np
from tyro.conf import OmitArgPrefixes, Positional, arg

from luke_jax.cli import predict
from luke_jax.cli.task_inputs import FileOptions, ModelOptions
from luke_jax.convert.reading import named_directory, read_model
from luke_jax.errors import InputError
from luke_jax.files import Path, check_place, read_json, whole
from luke_jax.inference.describing import add_own, describe
from luke_jax.tasks.linking.files import read_own
from luke_jax.tasks.linking.knowledge import Knowledge
from luke_jax.text import EntityVocab, load_entity_vocab
from luke_jax.text.tokenizer import SPECIAL
from luke_jax.training.metrics import summary_line
from luke_jax.wiki.export.export import NO_ITEM, MakeItems, TitleItems, check_items, wiki_name
from luke_jax.wiki.read.dump import read_site
from luke_jax.wiki.stages.engines import EngineOptions
from luke_jax.wiki.stages.page_stage import NOWHERE, MakeTitles, Titles, shards_of
from luke_jax.wiki.stages.progress import StageProgress
from luke_jax.wiki.stages.sources import DumpSource, Settings
from luke_jax.wiki.stages.stage import MANIFEST, Engine, check_made_of


def link(
  directory: Annotated[Path, Positional, arg(metavar="MODEL")],
  sources: Annotated[tuple[str, ...], Positional, arg(metavar="FILE|TEXT|-|SHARDS")] = (
    predict.STANDARD_INPUT,
  ),
  /,
  *,
  output: Annotated[str, arg(metavar="PATH")] = "",
  knowledge: Path | None = None,
  threshold: float | None = None,
  backbone: Path | None = None,
  engine: OmitArgPrefixes[EngineOptions],
) -> None:
  """Finds the entities that the names in texts mean.

  In a terminal the texts are shown with the entities marked; elsewhere, and in --output, each text
  is a line of JSON with its links: start, end, title, item of Wikidata and score. Where a file
  gives `mentions` of a text, these are linked and no others.

      luke-jax link runs/linker "Curie was born in Warsaw."

  Args:
    directory: Directory of a model that links, or the folder of the run that made it.
    sources: File of texts, a text, an object of JSON, or - for standard input; or the shards of a
      corpus, as luke-jax predict reads them.
    output: File for the links: lines of JSON, or a page if its name ends in .html. Of a corpus, a
      folder.
    knowledge: Folder of other knowledge than that of the training, such as with one's own entities.
    threshold: Least score of a name's entity, as luke-jax evaluate linking --precision tells it.
    backbone: Directory of the backbone, for an adapter of one that was not fetched.
  """
  if not directory.exists() and sources == (predict.STANDARD_INPUT,) and " " in str(directory):
    raise InputError(
      "MODEL: a text; expected a linker before it: `luke-jax linker simplewiki --output my-linker`"
      " makes one of the Simple English Wikipedia"
    )
  predict.run(
    "linking",
    directory,
    sources,
    output=output,
    threshold=threshold,
    reading=ModelOptions(backbone, knowledge=knowledge),
    form=FileOptions(),
    engine=engine,
  )


def entities_describe(
  tables: Annotated[Path, Positional, arg(metavar="TABLES")],
  /,
  *,
  output: Path,
  model: Path = Path("english"),
  examples: int = 20000,
  engine: OmitArgPrefixes[EngineOptions],
) -> None:
  """Makes what a linker knows of a wiki's pages, and examples to train it on.

  That is a vector of each page's description, and the names that pages have by links and titles. A
  twentieth of the pages is held out: no link of theirs counts, and OUTPUT/dev.jsonl has their text.
  The command resumes.

      luke-jax entities describe tables --output knowledge
      luke-jax train linking --train knowledge/train.jsonl --dev knowledge/dev.jsonl \\
        --model english --set task.knowledge=knowledge --output runs/linker

  Args:
    tables: Folder that `luke-jax wiki export` made.
    output: Folder for the knowledge.
    model: Directory or name of the model whose states describe entities: a sentence encoder.
    examples: About how many paragraphs to train on.
  """
  if examples < 1:
    raise InputError(f"--examples: {examples}; expected a whole number from 1")
  with engine.opened() as runner:
    counts = describe(tables, named_directory(model), output, runner, examples=examples)
  print(summary_line({**counts, "output": str(output)}))


def entities_own(
  source: Annotated[Path, Positional, arg(metavar="KNOWLEDGE")],
  file: Annotated[Path, Positional, arg(metavar="FILE")],
  /,
  *,
  output: Path,
  model: Path = Path("english"),
) -> None:
  """Adds entities of your own to what a linker knows; nothing is trained.

  A line of FILE is an object of JSON with a name, and perhaps a description, aliases, an id, and
  sentences that say something of the entity. What the knowledge had stays the same to the bit.

      luke-jax entities own knowledge mine.jsonl --output with-mine
      luke-jax link runs/linker "Nordvik ships bearings." --knowledge with-mine

  Args:
    source: Folder of knowledge.
    file: File of entities.
    output: Folder for the knowledge with them.
    model: Directory or name of the model that describes entities, the one of KNOWLEDGE.
  """
  counts = add_own(Knowledge(source), read_model(named_directory(model)), read_own(file), output)
  print(json.dumps({**counts, "output": str(output)}))


def entities_resolve(
  vocabulary: Annotated[Path, Positional, arg(metavar="VOCAB")],
  /,
  *,
  dump: Path,
  output: Path,
  items: Path | None = None,
  skip_bad_pages: bool = False,
  engine: OmitArgPrefixes[EngineOptions],
) -> None:
  """Finds the title that each entity of a vocabulary has today, and its item of Wikidata.

  A line of OUTPUT has a title of the vocabulary, the title of the page that it leads to by the
  dump's redirects, that page's item, and a state: same, moved, or gone if there is no such page.

      luke-jax entities resolve luke-base --dump enwiki-pages-articles.xml.bz2 \\
        --items enwiki-page_props.sql.gz --output titles.tsv --workers 8

  Args:
    vocabulary: Entity vocabulary, .json, .jsonl or .tsv, or the directory of a model.
    dump: Dump of the wiki's pages, as luke-jax wiki build reads it, or the folder of its build.
    output: File for the lines: .tsv, or .jsonl for lines of JSON.
    items: File with the pages' items, as luke-jax wiki export reads it; without it there are none.
    skip_bad_pages: Leaves out pages that cannot be read; they are errors otherwise.
  """
  if output.suffix not in (".tsv", ".jsonl") or output in (vocabulary, items):
    raise InputError(f"--output {output}: expected a name in .tsv or .jsonl, of no input")
  check_place(output)
  vocab = load_entity_vocab(vocabulary)
  if items is not None:
    check_items(items)
  states: Counter[str] = Counter(dict.fromkeys(("same", "moved", "gone", "items"), 0))
  with tempfile.TemporaryDirectory(prefix="luke-jax-") as made, engine.opened() as runner:
    place, site = _wiki(dump, Path(made), runner, skip_bad_pages)
    if items is not None:
      MakeItems(Path(made), place, items, wiki_name(site), site["language"])(0)
    titles = Titles(place)
    numbers = TitleItems(Path(made) if items else None, len(titles)).numbers
    with whole(output) as part, part.open("w", encoding="utf-8", newline="\n") as file:
      for row in _resolved(vocab, titles, numbers, site["language"]):
        states.update([row["state"], *(["items"] if row["item"] else [])])
        as_json = output.suffix == ".jsonl" and json.dumps(row, ensure_ascii=False)
        file.write((as_json or "\t".join(row.values())) + "\n")
      if not states["same"] + states["moved"]:
        expected = "expected a vocabulary of that wiki"
        raise InputError(f"{vocabulary}: no title in it is a page of {dump}; {expected}")
  print(json.dumps({"file": str(output), **states}))


def _wiki(dump: Path, folder: Path, engine: Engine, bad: bool) -> tuple[Path, Mapping[str, Any]]:
  """Returns the folder of a wiki's titles, those of a build or made of a dump, and the wiki."""
  if dump.is_dir():
    check_made_of(dump / "titles", "pages")
    return dump / "titles", read_json(dump / "pages" / MANIFEST)["made_of"]["site"]
  site = read_site(dump)
  source = DumpSource(Settings((dump,), dump, skip_bad_pages=bad), folder, site)
  stage = source.stages([""])[0]({})
  work = dataclasses.replace(stage.work, titles_only=True)
  with StageProgress() as progress:
    pages = progress.finish(dataclasses.replace(stage, work=work), engine)
    with progress.step("titles"):
      MakeTitles(folder, shards_of(stage.folder, pages))(0)
  return folder, dataclasses.asdict(site)


def _resolved(
  vocab: EntityVocab, titles: Titles, items: np.ndarray, wiki: str
) -> Iterator[dict[str, str]]:
  """Yields the row of each title of a vocabulary, of those in a wiki's language if it has them."""
  for id in range(len(vocab)):
    for title, language in vocab.titles(id):
      if title in SPECIAL or language not in (None, wiki):
        continue
      page = titles.page(title)
      now = "" if page == NOWHERE else titles.table[page]
      item = "" if page == NOWHERE or items[page] == NO_ITEM else f"Q{items[page]}"
      state = "gone" if page == NOWHERE else "same" if now == title else "moved"
      yield {"title": title, "now": now, "item": item, "state": state}
