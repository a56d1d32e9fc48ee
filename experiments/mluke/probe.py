"""Objects of facts ranked by a model: `python -m experiments.mluke.probe MODEL FACTS`.

The rules are those of mLAMA's evaluation in the code of LUKE's authors. All objects of a relation
are candidates; for every number of pieces that one of them has, the question is read once, with so
many masks. A candidate's score is the mean log probability of its pieces.
"""

import dataclasses
import functools
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from rich.table import Table
from tyro.conf import Positional, arg

from experiments.mluke.facts import Fact, RelationTemplate, read_relations
from luke_jax.cli import script
from luke_jax.cli.masks import masked_model
from luke_jax.convert.parts import ModelParts
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.inference.settings import any_processor
from luke_jax.models.config_files import check_finite
from luke_jax.models.network import Network
from luke_jax.terminal import Console
from luke_jax.text import Processor, Row
from luke_jax.text.parts import Part, RowEntity, TextWithEntities, moved, tokenized
from luke_jax.text.rows import UNKNOWN, enclosed
from luke_jax.text.tokenizer import MASK
from luke_jax.training.metrics import summary_line

Inputs = Literal["none", "mask", "title"]
FIRST = (1, 5, 10, 100)
_MASKS = 64  # that are read together: each has the log probabilities of a vocabulary
_STEP = 16  # of the lengths of rows, so that few are compiled


class ObjectScores(NamedTuple):
  """Log probabilities of a relation's objects for each fact, -inf where there is none."""

  words: np.ndarray  # (facts, objects)
  entities: np.ndarray  # (facts, objects)
  right: np.ndarray  # (facts,) the numbers of the objects of the facts

  @property
  def ranks(self) -> tuple[np.ndarray, np.ndarray]:
    """Returns the ranks of the right objects by words and by entities, from 1; 0 for none.

    Of equal scores the right one is the last.
    """
    return _ranks(self.words, self.right), _ranks(self.entities, self.right)


class _Candidates(NamedTuple):
  """Objects of one number of pieces."""

  numbers: list[int]  # among the relation's objects
  pieces: list[list[int]]  # (C, k)
  entities: np.ndarray  # (C,) their ids, -1 for what the vocabulary lacks


def scores(
  model: ModelParts,
  relation: RelationTemplate,
  *,
  entities: Inputs = "none",
  language: str | None = None,
) -> ObjectScores:
  """Returns the scores of all objects of a relation for each of its facts.

  With `entities` the subject is one, `[MASK]` or that of its title if the vocabulary has it, and so
  is the object, as `[MASK]`, which is scored too. `language` is that of titles.
  """
  processor = _processor(model, entities, language)
  objects = list({fact.object: fact for fact in relation.facts}.values())
  subjects = list({fact.asked: fact for fact in relation.facts}.values())
  parts = _tokenized(processor, relation, [(x, objects[0]) for x in subjects], entities)
  by_words, by_entities = np.full((2, len(subjects), len(objects)), -np.inf, np.float32)
  for length, candidates in _by_length(processor, relation, objects, entities).items():
    rows = [
      _masked(processor, part, length, entities != "none", fact.place)
      for part, fact in zip(parts, subjects, strict=True)
    ]
    for numbers, words, of_entities in _of_length(model, processor, rows, candidates):
      by_words[np.ix_(numbers, candidates.numbers)] = words
      by_entities[np.ix_(numbers, candidates.numbers)] = of_entities
  of_subject = {fact.asked: number for number, fact in enumerate(subjects)}
  of_object = {fact.object: number for number, fact in enumerate(objects)}
  asked = [of_subject[fact.asked] for fact in relation.facts]
  right = [of_object[fact.object] for fact in relation.facts]
  return ObjectScores(by_words[asked], by_entities[asked], np.array(right))


def hits(ranks: np.ndarray) -> dict[str, float]:
  """Returns the share of objects among the first 1, 5, 10 and 100, and the mean reciprocal rank."""
  known = ranks[ranks > 0]
  count = max(1, len(known))
  shares = {f"hits@{first}": float((known <= first).sum() / count) for first in FIRST}
  return shares | {"mrr": float((1 / known).sum() / count)}


def _processor(model: ModelParts, entities: Inputs, language: str | None) -> Processor:
  processor = any_processor(model)
  if entities == "none":
    return processor
  if not model.backbone.entities or not model.processor:
    raise InputError(f"entities: {entities}; expected none, for the model has no entities")
  if processor.entity_vocab.multilingual and language is None:
    raise InputError("language: none; expected that of the titles, for the model knows several")
  return dataclasses.replace(processor, language=language)


def _tokenized(
  processor: Processor,
  relation: RelationTemplate,
  pairs: Sequence[tuple[Fact, Fact]],
  entities: Inputs,
) -> list[Part]:
  """Returns the sentences about pairs of a subject and an object, the object their first entity."""
  texts = []
  for subject, object in pairs:
    text, of_subject, of_object = relation.text(subject.subject, object.object)
    # Pieces do not cross the edges of the object, so that in a sentence they are always the same.
    marked = [_entity(processor.entity_vocab.id(MASK), of_object)]
    if entities == "mask":
      marked.append(_entity(marked[0].id, of_subject))
    elif entities == "title":
      id = _id(processor, subject.subject_title)
      marked += [_entity(id, of_subject)] * (id >= 0)
    texts.append(TextWithEntities(text, marked, subject.place))
  return tokenized(processor.tokenizer, texts, False, processor.read_as)


def _entity(id: int, characters: tuple[int, int]) -> RowEntity:
  return RowEntity(id, (0, 0), characters, text=0, number=0)


def _id(processor: Processor, title: str) -> int:
  key = title, processor.language
  return processor.entity_vocab.id(*key) if processor.entity_vocab.contains(*key) else -1


def _by_length(
  processor: Processor, relation: RelationTemplate, objects: Sequence[Fact], entities: Inputs
) -> dict[int, _Candidates]:
  """Returns the objects by the number of their pieces, as these are after the template's words."""
  pairs = [(relation.facts[0]._replace(place=x.place), x) for x in objects]
  numbers, pieces = defaultdict(list), defaultdict(list)
  for number, part in enumerate(_tokenized(processor, relation, pairs, "none")):
    ids = part.ids[slice(*part.entities[0].tokens)]
    numbers[len(ids)].append(number)
    pieces[len(ids)].append(ids)
  known = [-1 if entities == "none" else _id(processor, x.object_title) for x in objects]
  return {
    length: _Candidates(numbers[length], ids, np.array(known)[numbers[length]])
    for length, ids in pieces.items()
  }


def _masked(processor: Processor, part: Part, length: int, with_entities: bool, place: str) -> Row:
  """Returns a sentence with so many masks in place of its object; `source` is the first one."""
  special = processor.tokenizer.special
  object, *others = part.entities
  start, end = object.tokens
  ids = [*part.ids[:start], *[special.mask] * length, *part.ids[end:]]
  if len(ids) + special.around(1) > processor.max_length:
    raise InputError(f"{place}: {len(ids)} pieces; expected a sentence that the model has room for")
  by = length - (end - start)
  moved_on = [moved(x, by) if x.tokens[0] >= end else x for x in others]
  entities = [object._replace(tokens=(start, start + length)), *moved_on]
  row = enclosed([Part(ids, [], entities if with_entities else [])], special)
  return dataclasses.replace(row, source=start + row.text_starts[0], origin=UNKNOWN)


def _of_length(
  model: ModelParts, processor: Processor, rows: Sequence[Row], candidates: _Candidates
) -> Iterator[tuple[list[int], np.ndarray, np.ndarray]]:
  """Yields numbers of rows, and the scores (R, C) of candidates there, by words and by entities."""
  count, length = len(candidates.pieces), len(candidates.pieces[0])
  pieces = np.zeros((_power(count), _power(length)), np.int32)
  pieces[:count, :length] = candidates.pieces
  lengths = (*range(_STEP, processor.max_length, _STEP), processor.max_length)
  order = sorted(range(len(rows)), key=lambda number: len(rows[number].input_ids))
  height = max(1, _MASKS // pieces.shape[1])
  for first in range(0, len(rows), height):
    numbers = order[first : first + height]
    some = [rows[i] for i in numbers]
    some += some[-1:] * (_power(len(some)) - len(some))
    inputs = processor.pad(some, word_lengths=lengths, entity_lengths=2)
    starts = np.array([row.source for row in some])
    places = starts[:, None] + np.minimum(np.arange(_power(length)), length - 1)
    words, entities = _log_probabilities(*model.predicting, inputs, places)
    means = np.asarray(_means(words, pieces, length))[: len(numbers), :count]
    check_finite("log probabilities", means)
    of_entities = np.full_like(means, -np.inf)
    if entities is not None:
      known = candidates.entities >= 0
      of_entities[:, known] = np.asarray(entities)[: len(numbers), candidates.entities[known]]
    yield numbers, means, of_entities


@functools.partial(jax.jit, static_argnames="network")
def _log_probabilities(
  network: Network, params: dict, inputs: Mapping[str, jax.Array], places: jax.Array
) -> tuple[jax.Array, jax.Array | None]:
  """Returns log probabilities of pieces at places (B, P), (B, P, V), and of the first entity."""

  def decoded(module: Any) -> Mapping[str, jax.Array]:
    states = module.encoder(**inputs)
    # The other words' logits are most of the work, and nobody reads them.
    words = jnp.take_along_axis(states.words, places[..., None], axis=1)
    return module.head(states._replace(words=words), module.encoder.tables())

  run: Any = network.apply
  outputs = run({"params": params}, method=decoded)
  words = jax.nn.log_softmax(outputs["logits"].astype(jnp.float32))
  if "entity_ids" not in inputs:
    return words, None
  return words, jax.nn.log_softmax(outputs["entity_logits"][:, 0].astype(jnp.float32))


@jax.jit
def _means(words: jax.Array, pieces: jax.Array, length: int) -> jax.Array:
  """Returns means (B, C) over the first places, of log probabilities (B, P, V) of pieces (C, P)."""
  places = jnp.arange(pieces.shape[1])
  return jnp.where(places < length, words[:, places, pieces], 0).sum(-1) / length


def _ranks(values: np.ndarray, right: np.ndarray) -> np.ndarray:
  own = np.take_along_axis(values, right[:, None], axis=1)
  return np.where(np.isfinite(own[:, 0]), (values >= own).sum(1), 0)


def _power(number: int) -> int:
  return 1 << (number - 1).bit_length()


def main(
  directory: Annotated[Path, Positional, arg(metavar="DIRECTORY")],
  folder: Annotated[Path, Positional, arg(metavar="FOLDER")],
  /,
  *,
  entities: Inputs = "none",
  language: str | None = None,
) -> None:
  """Scores what a pretrained model knows, by cloze questions about facts.

  FOLDER has templates.jsonl and a file of facts for each relation, as mLAMA has them for a
  language and `python -m experiments.mluke.facts` makes them. All objects of a relation are ranked,
  by the mean log probability of their pieces. The last line is the scores over all facts in JSON,
  with the means over relations (macro).

      python -m experiments.mluke.probe mluke-base facts/de

  Args:
    directory: Directory of a pretrained model.
    folder: Folder of facts in one language.
    entities: Whether the subject is an entity too: as [MASK], or that of its title. Then the object
      is one, and the scores of entities rank the objects as well.
    language: Language of the titles, for a model that knows entities in several.
  """
  model, relations = masked_model(directory), read_relations(folder)
  table = Table()
  for name in ("relation", "template", "facts", "hits@1", "mrr"):
    table.add_column(name)
  by_words, by_entities = [], []
  for relation in relations:
    words, of_entities = scores(model, relation, entities=entities, language=language).ranks
    by_words.append(words)
    by_entities += [of_entities] if of_entities.any() else []
    figures = (f"{hits(words)[name]:.3f}" for name in ("hits@1", "mrr"))
    table.add_row(relation.name, relation.template, f"{len(words):,}", *figures)
  Console().print(table)
  summary = _figures(by_words)
  if entities != "none":
    summary |= {f"entity_{name}": x for name, x in _figures(by_entities).items()}
  print(summary_line(summary))


def _figures(of_relations: list[np.ndarray]) -> dict[str, float]:
  """Returns scores over all facts that have a rank, and their means over relations."""
  every = np.concatenate([*of_relations, np.zeros(0)])
  single = [hits(x) for x in of_relations] or [hits(every)]
  macro = {f"macro_{name}": float(np.mean([x[name] for x in single])) for name in single[0]}
  return {**hits(every), **macro, "facts": int((every > 0).sum()), "relations": len(of_relations)}


if __name__ == "__main__":
  sys.exit(script(main, "python -m experiments.mluke.probe"))
