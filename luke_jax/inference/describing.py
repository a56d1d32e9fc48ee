"""Knowledge for a linker out of a wiki's tables: vectors of entities, their names, and examples."""

import collections
import dataclasses
import functools
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from luke_jax.convert.parts import ModelParts
from luke_jax.errors import InputError
from luke_jax.files import Path, whole
from luke_jax.inference.settings import any_processor
from luke_jax.models.network import Network
from luke_jax.tasks.linking.knowledge import (
  NONE,
  About,
  Knowledge,
  Meanings,
  check_free,
  key_of,
  lines_of,
  write_knowledge,
)
from luke_jax.text import TextInput
from luke_jax.wiki.export.read import read_pages, read_sentences
from luke_jax.wiki.export.rows import ExportedLink, ExportedPage, ExportedSentence
from luke_jax.wiki.read.own_names import base_title

HELD_OUT = 20  # one page in so many, by its title, is dev: no link of it counts for a name
FROM_TITLE = 0.5  # of a link: how much a name counts that is a title, a redirect or a name in bold
OWN = ("own-title", "own-short")  # sources of names on the page that they mean
OF_A_PAGE = 2  # paragraphs of each page among the examples
PIECES = 64  # of an entity's description
BATCH = 64
Names = dict[str, dict[int, float]]


def describe(tables: Path, model: ModelParts, output: Path, *, examples: int) -> dict[str, int]:
  """Writes knowledge of a wiki's pages, and examples to train on and to score by.

  `examples` is about how many paragraphs there are to train on. Returns counts.
  """
  check_free(output)  # before the minutes that describing takes
  pages = [page for page in read_pages(tables, text=False) if not page.disambiguation]
  if not pages:
    raise InputError(f"{tables}: no pages; expected tables that luke-jax wiki export made")
  ids = {page.title: id for id, page in enumerate(pages)}
  names = _names(tables, pages, ids)
  entities = [About(page.title, _description(page), page.item) for page in pages]
  vectors = encode(model, [f"{x.title}: {x.description}" for x in entities])
  counts = {"entities": len(entities), "names": len(names)}
  share = examples / (OF_A_PAGE * len(pages))
  output.mkdir(parents=True, exist_ok=True)
  for split, of_pages in (("train", share), ("dev", 1.0)):
    counts[split] = _write_examples(output / f"{split}.jsonl", tables, names, of_pages)
  # Last: a folder with knowledge is whole.
  write_knowledge(output, lines_of(entities), vectors, Meanings.of(names), {"tables": tables.name})
  return counts


@dataclasses.dataclass(frozen=True)
class OwnEntity:
  """An entity of the user's own: a line of JSON."""

  name: str
  description: str = ""
  aliases: tuple[str, ...] = ()
  id: str | None = None


def add_own(
  known: Knowledge, model: ModelParts, own: Sequence[OwnEntity], output: Path
) -> dict[str, int]:
  """Writes knowledge with more entities; what it had stays the same to the bit."""
  check_free(output)
  for entity in own:
    if known.id_of(entity.name) != NONE:
      raise InputError(f"{entity.name!r}: an entity of {known.folder}; expected another name")
  entities = [About(x.name, x.description, x.id) for x in own]
  vectors = encode(model, [f"{x.title}: {x.description}" for x in entities])
  names = {}
  for id, entity in enumerate(own, start=len(known)):
    for name in {entity.name, *entity.aliases}:
      names.setdefault(name, {})[id] = 1.0
  lines = known.lines + lines_of(entities)
  all_vectors = np.concatenate([known.all_vectors, vectors.astype(np.float16)])
  facts = {"tables": known.facts["tables"], "own": len(own)}
  write_knowledge(output, lines, all_vectors, known.meanings + Meanings.of(names), facts)
  return {"entities": len(lines), "own": len(own)}


def is_dev(title: str) -> bool:
  """Returns whether a page is held out."""
  return _place(f"page {title}") < 1 / HELD_OUT


def encode(model: ModelParts, texts: Sequence[str]) -> np.ndarray:
  """Returns the means of the texts' states, (N, D), each of length 1."""
  processor = any_processor(model)
  network = Network(model.backbone)
  params = {model.system.name: model.params[model.system.name]}
  vectors = np.zeros((len(texts), model.config.hidden_size), np.float32)
  order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
  for first in range(0, len(order), BATCH):
    chosen = order[first : first + BATCH]
    inputs = [TextInput(" ".join(texts[i].split()) or "?") for i in chosen]
    rows = processor.encode(inputs, truncation=True)
    width = -(-max(min(len(row.input_ids), PIECES) for row in rows) // 16) * 16
    words = np.full((BATCH, width), model.config.pad_token_id, np.int32)
    mask = np.zeros((BATCH, width), np.int32)
    for place, row in enumerate(rows):
      pieces = row.input_ids[:width]
      words[place, : len(pieces)], mask[place, : len(pieces)] = pieces, 1
    vectors[chosen] = np.asarray(_means(network, params, words, mask))[: len(chosen)]
  return vectors


@functools.partial(jax.jit, static_argnames="network")
def _means(network: Network, params: Any, words: jax.Array, mask: jax.Array) -> jax.Array:
  found: Any = network.apply({"params": params}, input_ids=words, attention_mask=mask)
  states = found["last_hidden_state"].astype(jnp.float32)
  total = jnp.einsum("bwd,bw->bd", states, mask.astype(jnp.float32))
  return total / jnp.maximum(jnp.linalg.norm(total, axis=-1, keepdims=True), 1e-9)


def _description(page: ExportedPage) -> str:
  return page.description or page.first_sentence or page.type_phrase or ""


def _names(tables: Path, pages: Sequence[ExportedPage], ids: Mapping[str, int]) -> Names:
  """Returns what each name means: by links of other pages, and by what pages are called.

  A page's own names count once, however often its text has them.
  """
  names: Names = collections.defaultdict(lambda: collections.defaultdict(float))
  own: set[tuple[str, int]] = set()
  for page in pages:
    id = ids[page.title]
    own |= {(x, id) for x in (page.title, base_title(page.title), *page.redirects, *page.names)}
  for sentence in read_sentences(tables, linked=True):
    for link in sentence.links:
      id = ids.get(link.target)
      if id is not None and link.source in OWN:
        own.add((link.text, id))
      elif id is not None and not is_dev(sentence.title):
        names[link.text][id] += 1
  for name, id in sorted(own):
    names[name][id] += FROM_TITLE
  names.pop("", None)
  return names


def _write_examples(path: Path, tables: Path, names: Names, share: float) -> int:
  """Writes some paragraphs of each page of a split; those with ambiguous names come first."""
  count = 0
  with whole(path) as part, part.open("w", encoding="utf-8") as file:
    for title, paragraphs in itertools.groupby(
      _paragraphs(read_sentences(tables)), lambda paragraph: paragraph[0].title
    ):
      if is_dev(title) != (path.stem == "dev") or _place(f"share {title}") >= share:
        continue
      examples = [x for x in map(_example, paragraphs) if x is not None]
      examples.sort(key=lambda x: (not _is_ambiguous(x, names), _place(x["text"])))
      for example in examples[:OF_A_PAGE]:
        file.write(json.dumps(example, ensure_ascii=False) + "\n")
        count += 1
  return count


def _place(text: str) -> float:
  """Returns a number from 0 to 1 by the hash of a text."""
  return float(key_of(text)) / 2**64


def _is_ambiguous(example: Mapping[str, Any], names: Names) -> bool:
  return any(len(names.get(example["text"][x:y], ())) > 1 for x, y, _ in example["mentions"])


def _paragraphs(sentences: Iterable[ExportedSentence]) -> Iterator[list[ExportedSentence]]:
  paragraph: list[ExportedSentence] = []
  for sentence in sentences:
    if paragraph and (sentence.page_id, sentence.paragraph) != (
      paragraph[0].page_id,
      paragraph[0].paragraph,
    ):
      yield paragraph
      paragraph = []
    paragraph.append(sentence)
  if paragraph:
    yield paragraph


def _example(paragraph: Sequence[ExportedSentence]) -> dict[str, Any] | None:
  """Returns a paragraph with its links; None without any, and for the one that describes a page."""
  if paragraph[0].paragraph == 0:
    return None
  text, mentions = "", []
  for sentence in paragraph:
    text += " " if text else ""
    mentions += [_moved(link, len(text)) for link in sentence.links if link.target_id is not None]
    text += sentence.text
  return {"text": text, "mentions": mentions} if mentions else None


def _moved(link: ExportedLink, by: int) -> list[Any]:
  return [link.start + by, link.end + by, link.target]
