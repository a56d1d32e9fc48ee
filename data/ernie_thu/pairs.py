"""Pairs of sentences with entities: `python -m data.ernie_thu.pairs BUILD|FILE`."""

import contextlib
import json
import sys
from collections.abc import Iterable, Mapping
from typing import Annotated

import numpy as np
from tyro.conf import Positional, arg

from data.ernie_thu.linked_documents import LinkedDocuments, TextDocuments
from data.ernie_thu.sentence_pairs import Document, PairMaker, PairSettings, read_documents
from luke_jax.cli import script
from luke_jax.errors import InputError
from luke_jax.files import Path, whole
from luke_jax.graph.vectors import open_vectors
from luke_jax.pipeline.rows import MaskIds
from luke_jax.pipeline.stored import BYTES, INDEX_HEAD, INT32, MAGIC, NONE, PARTS, VERSION, Instance
from luke_jax.systems.ernie_thu.aligning import read_linked_texts
from luke_jax.text import Tokenizer, load_tokenizer
from luke_jax.text.alignment import Alignment


def main(
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

      python -m data.ernie_thu.pairs wiki/en --vectors kg_embed \\
        --titles entity_map.txt --tokenizer bert --output pairs.bin

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


def write_instances(path: Path, instances: Iterable[Instance], words: int) -> int:
  """Writes instances padded to `words` as a file and its index, and returns their number."""
  count = 0
  with contextlib.ExitStack() as parts:
    data, index = (parts.enter_context(whole(x)) for x in (path, path.with_suffix(".idx")))
    with data.open("wb") as file:
      for instance in instances:
        file.write(_item(instance, words).tobytes())
        count += 1
    size = PARTS * words + 1
    offsets = np.arange(count + 1, dtype="<i8")
    head = INDEX_HEAD.pack(VERSION, INT32, BYTES, count, count)
    arrays = (offsets, offsets * size, np.full(count, size, "<i8"))
    index.write_bytes(b"".join([MAGIC, head, *(array.tobytes() for array in arrays)]))
  return count


def _item(instance: Instance, words: int) -> np.ndarray:
  rows = np.zeros((PARTS, words), "<i4")
  rows[3:5] = NONE
  length = len(instance.input_ids)
  rows[0, :length], rows[1, :length], rows[2, :length] = (
    instance.input_ids,
    1,
    instance.token_type_ids,
  )
  rows[3, :length], rows[4, :length] = instance.labels, instance.entities
  rows[5] = rows[4] != NONE
  return np.append(rows.ravel() + 1, np.int32(instance.random_next) + 1).astype("<i4")


if __name__ == "__main__":
  sys.exit(script(main, "python -m data.ernie_thu.pairs"))
