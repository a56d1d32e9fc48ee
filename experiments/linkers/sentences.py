"""Measures what sentences add to the description of an entity that no training saw.

    python experiments/linkers/sentences.py runs/linker/model tables knowledge

Entities are those of held-out names, without a name in the training file and with five sentences
of the wiki, none of them scored, that name them: mostly of their own page. Prints a line for each
number of sentences, and one for the first paragraph of the page, which no example is from.
"""

import argparse
import dataclasses
import json
from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from fixed_states import NAMES, WORDS, OrderedHead, Split, predicted, read_split, with_none
from variants import VariedLinking, trained_on

import luke_jax
from luke_jax.convert.published import published
from luke_jax.convert.reading import read_model
from luke_jax.files import Path
from luke_jax.heads.linking import LinkingHead
from luke_jax.inference.describing import own_vectors
from luke_jax.tasks.linking.candidates import entity_of
from luke_jax.tasks.linking.files import OwnEntity
from luke_jax.tasks.linking.knowledge import Knowledge, open_knowledge
from luke_jax.tasks.linking.names import NONE
from luke_jax.tasks.predictions import Link
from luke_jax.wiki.export.read import read_sentences

COUNTS = (1, 3, 5)


def first_paragraphs(tables: Path, ids: Collection[int], known: Knowledge) -> dict[int, list[str]]:
  """Returns the sentences of each page's first paragraph after the first, which describes it."""
  found: dict[int, list[str]] = {id: [] for id in ids}
  titles = {known.about(id).title: id for id in ids}
  for sentence in read_sentences(tables):
    if sentence.title in titles and not sentence.paragraph and sentence.sentence:
      found[titles[sentence.title]].append(sentence.text)
  return found


def sentences_of(
  tables: Path, ids: Collection[int], known: Knowledge, scored: Sequence[str]
) -> dict[int, list[str]]:
  """Returns sentences that name each entity and stand in no text that is scored."""
  found: dict[int, list[str]] = defaultdict(list)
  titles = {known.about(id).title: id for id in ids}
  for sentence in read_sentences(tables, linked=True):
    named = {titles[x.target] for x in sentence.links if x.target in titles}
    wanting = [id for id in named if len(found[id]) < max(COUNTS)]
    # The first sentence of its page is the entity's description.
    wanting = [id for id in wanting if sentence.sentence or sentence.title not in titles]
    if wanting and not any(sentence.text in text for text in scored):
      for id in wanting:
        found[id].append(sentence.text)
  return {id: of_one for id, of_one in found.items() if len(of_one) == max(COUNTS)}


def scores(
  split: Split, links: Sequence[Sequence[Link]], known: Knowledge, ids: Collection[int]
) -> dict[str, Any]:
  """Returns the accuracy over names of these entities, and how often others were taken for them."""
  right: list[tuple[bool, bool]] = []
  wrongly = 0
  for example, of_text in zip(split.examples, links, strict=True):
    said = {(x.start, x.end): known.id_of(x.title) if x.title else NONE for x in of_text}
    for mention in example.mentions:
      meant, answer = entity_of(mention, known), said.get(mention[:2], NONE)
      if meant in ids:
        name = example.text[mention.start : mention.end]
        candidates = known.candidates(name, VariedLinking.candidates).ids
        right.append((answer == meant, len(candidates) > 1 and meant in candidates))
      wrongly += answer in ids and answer != meant
  ambiguous = [x for x, several in right if several]
  return {
    "names": len(right),
    "accuracy": round(sum(x for x, _ in right) / len(right), 4),
    "ambiguous_names": len(ambiguous),
    "ambiguous_accuracy": round(sum(ambiguous) / max(1, len(ambiguous)), 4),
    "wrongly": wrongly,
  }


def main() -> None:
  """Describes the entities in each way and scores the linker."""
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("model", type=Path)
  parser.add_argument("tables", type=Path)
  parser.add_argument("knowledge", type=Path)
  parser.add_argument("--described-by", type=Path, default=None)
  options = parser.parse_args()
  model, folder = luke_jax.load(options.model), str(options.knowledge)
  describing = read_model(options.described_by or published("english"))
  known, head = open_knowledge(folder), model.network.head
  assert isinstance(head, LinkingHead)
  train = str(options.knowledge / "train.jsonl")
  task = VariedLinking(knowledge=folder, train=train, words=WORDS, entities=NAMES)
  dev = read_split(model, task, options.knowledge / "dev.jsonl")
  meant = {entity_of(x, known) for example in dev.examples for x in example.mentions or ()}
  unseen = meant - {NONE} - trained_on(train, folder)
  found = sentences_of(options.tables, unseen, known, [x.text for x in dev.examples])
  if not found:
    parser.error("no entity without training has so many sentences")
  ids, about = list(found), [known.about(id) for id in found]
  reading = OrderedHead(head.numerics, known.width, head.width, head.rounds)
  plain = [OwnEntity(x.title, x.description) for x in about]
  ways = {"description": plain}
  for count in COUNTS:
    some = [tuple(of_one[:count]) for of_one in found.values()]
    told = [dataclasses.replace(x, sentences=y) for x, y in zip(plain, some, strict=True)]
    ways[f"{count} sentences"] = [dataclasses.replace(x, description="") for x in told]
    ways[f"description and {count} sentences"] = told
  leads = first_paragraphs(options.tables, ids, known).values()
  ways["description and first paragraph"] = [
    dataclasses.replace(x, sentences=tuple(y[: max(COUNTS)]))
    for x, y in zip(plain, leads, strict=True)
  ]
  for way, entities in ways.items():
    vectors = np.array(known.all_vectors)
    vectors[ids] = own_vectors(describing, entities)
    links = predicted(
      reading, model.params, dev, task, with_none(vectors), model.config.hidden_size
    )
    line = {"described_by": way, "entities": len(ids), **scores(dev, links, known, set(ids))}
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
  main()
