"""`luke-jax wiki export`, `wiki types` and `wiki pairs`, which read a wiki's build."""

import json
from collections.abc import Iterable, Mapping
from typing import Annotated

from tyro.conf import OmitArgPrefixes, Positional, arg

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.graph.vectors import open_vectors
from luke_jax.pipeline.instances import write_instances
from luke_jax.pipeline.rows import MaskIds
from luke_jax.pipeline.sentence_pairs import Document, PairMaker, PairSettings, read_documents
from luke_jax.tasks.linked_texts import TextDocuments, read_linked_texts
from luke_jax.text import Tokenizer, load_tokenizer
from luke_jax.text.alignment import Alignment
from luke_jax.training.metrics import summary_line
from luke_jax.wiki.export.export import export
from luke_jax.wiki.export.tables import Form
from luke_jax.wiki.stages.engines import EngineOptions
from luke_jax.wiki.stages.linked_documents import LinkedDocuments
from luke_jax.wiki.typed.build import write_typed


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


def wiki_types(
  tables: Annotated[Path, Positional, arg(metavar="TABLES")],
  /,
  *,
  output: Path,
  examples: int = 150_000,
) -> None:
  """Makes sentences with typed names out of a wiki's tables, to learn labels from.

  Types are what pages say that they are, and English words in and around names: Labour Party, the
  guitarist Jimi Hendrix, countries such as Chad, instruments such as flutes. Of other names nobody
  knows the type. The pages of dev are others than those of train.

      luke-jax wiki types tables --output typed
      luke-jax train labels --train typed/train.jsonl --dev typed/dev.jsonl --model english \\
        --output runs/labels

  Args:
    tables: Folder that `luke-jax wiki export` made, of English pages.
    output: Folder for train.jsonl and dev.jsonl.
    examples: Sentences to train on at most, a random part of all.
  """
  if examples < 1:
    raise InputError(f"--examples: {examples}; expected a whole number from 1")
  print(summary_line({**write_typed(tables, output, examples=examples), "output": str(output)}))


def wiki_pairs(
  source: Annotated[Path, Positional, arg(metavar="BUILD|FILE")],
  /,
  *,
  vectors: Path,
  tokenizer: Path,
  output: Path,
  titles: Path | None = None,
  entities: Path | None = None,
  alignment: Alignment = "first",
  language: str = "en",
  words: int = PairSettings.words,
  least_entities: int = PairSettings.least_entities,
  seed: int = 0,
) -> None:
  """Makes pairs of sentences with the entities that they link, to pretrain an ERNIE of Tsinghua.

  The source is the folder of luke-jax wiki build; or texts with links, a document each, in a file
  that luke-jax graph align reads; or a file of documents as ERNIE's authors wrote them. Links whose
  entity has no vector are text alone.

      luke-jax wiki pairs wiki/en --vectors kg_embed --titles entity_map.txt --tokenizer bert \\
        --output pairs.bin

  Args:
    source: Folder of a build, file of texts, or file of documents as ids of words.
    vectors: Folder of the entities' vectors: entity2id.txt and entity2vec.vec.
    tokenizer: Directory with the tokenizer of the model; that of the documents.
    output: File to write, NAME.bin; NAME.idx is written beside it.
    titles: For a build, a file with a title, a tab and a Qid on each line, or Wikidata's dump.
    entities: For a file of documents as ids, that of their entities.
    language: For a file of texts, the language whose rules split them into sentences.
    alignment: Word pieces of a link that its entity is beside; alternate is that of the authors.
    words: Largest number of word pieces of a pair, special ones included.
    least_entities: Smallest number of word pieces with an entity; pairs with fewer are dropped.
    seed: Seed of what is drawn.
  """
  if output.suffix != ".bin":
    raise InputError(f"--output: {output}; expected a name that ends in .bin")
  numbers = open_vectors(vectors).ids.of
  loaded = load_tokenizer(tokenizer, markers=False)
  documents: Iterable[Document]
  if entities is None:
    documents = linked = _linked(source, titles, loaded, numbers, alignment, language)
  elif source.is_dir() or titles is not None:
    raise InputError(f"--entities: {entities}; expected them for a file of documents alone")
  else:
    documents, linked = read_documents(source, entities, numbers, alignment), None
  special = loaded.special
  vocabulary = MaskIds(special.mask, special.pad + 1, loaded.vocab_size)
  settings = PairSettings(words=words, least_entities=least_entities, seed=seed)
  maker = PairMaker(settings, special, vocabulary)
  count = write_instances(output, maker.pairs(documents), words)
  counts = {"pairs": count, "dropped: pairs with too few entities": maker.dropped}
  if linked is not None:
    counts |= {"links": linked.links, "links with a vector": linked.known}
  print(json.dumps({"file": str(output), **counts}))


def _linked(
  source: Path,
  titles: Path | None,
  tokenizer: Tokenizer,
  numbers: Mapping[str, int],
  alignment: Alignment,
  language: str,
) -> LinkedDocuments | TextDocuments:
  """Returns the documents of a build, or of a file of texts."""
  if source.is_dir():
    if titles is None:
      raise InputError(f"{source}: a build; expected --titles")
    return LinkedDocuments(source, tokenizer, titles, numbers, alignment)
  if titles is not None:
    raise InputError(f"--titles: {titles}, but {source} is a file; expected them for a build alone")
  return TextDocuments(read_linked_texts(source), tokenizer, numbers, alignment, language)
