"""A component of spaCy: names of a document, what they mean, and how they are related.

nlp.add_pipe("luke_jax", config={"model": "english/ner", "facts": "english/facts"})

spaCy imports this file with every pipeline, wherever the package is installed: JAX has to wait
until the component is made.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from spacy.language import Language
from spacy.pipeline import Pipe
from spacy.scorer import get_ner_prf
from spacy.tokens import Doc, Span
from spacy.util import minibatch

from luke_jax.errors import InputError, at

if TYPE_CHECKING:
  from luke_jax.inference.triples import Extractor, Name, Triple

RELATIONS, SCORE = "relations", "score"  # of doc._ and span._
_STORED = "luke_jax.relations"  # in doc.user_data, as numbers and strings


class Related(NamedTuple):
  """Two names of a document and their relation."""

  head: Span
  label: str
  tail: Span
  score: float


class Component(Pipe):
  """Sets `doc.ents` with `span._.score`, `ent.kb_id_` and `doc._.relations`."""

  def __init__(self, name: str, extractor: "Extractor") -> None:
    """Makes a component of models that are in memory."""
    self.name, self.extractor = name, extractor
    self.scorer = get_ner_prf  # what nlp.evaluate calls
    self._process = os.getpid()
    if not Span.has_extension(SCORE):
      Span.set_extension(SCORE, default=None)
    if not Doc.has_extension(RELATIONS):
      Doc.set_extension(RELATIONS, getter=_relations)

  def __reduce__(self) -> tuple[type, tuple[str, "Extractor"]]:
    """Returns its class and fields, from which another process makes it to compute there."""
    return Component, (self.name, self.extractor)

  def __call__(self, doc: Doc) -> Doc:
    """Annotates a document."""
    return next(self.pipe([doc]))

  def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
    """Annotates documents, which are read in batches."""
    if self._process != os.getpid():
      raise InputError(
        "n_process: JAX would wait for ever in a process that is forked from its own; expected"
        " n_process=1, whose batches use all cores"
      )
    handle_error = self.get_error_handler()
    for docs in minibatch(stream, size=batch_size):
      try:
        self._annotate([doc for doc in docs if doc.text.strip()])
      except Exception as fault:
        handle_error(self.name, self, docs, fault)
      else:
        yield from docs

  def _annotate(self, docs: Sequence[Doc]) -> None:
    if not docs:
      return
    texts = [doc.text for doc in docs]
    names = self.extractor.names_in(texts)
    for doc, of_doc in zip(docs, names, strict=True):
      _set_names(doc, of_doc)
    if self.extractor.facts is None:
      return
    for doc, triples in zip(docs, self.extractor.related(texts, names), strict=True):
      doc.user_data[_STORED] = [_as_stored(triple) for triple in triples]


def _set_names(doc: Doc, names: Sequence["Name"]) -> None:
  """Adds the names that overlap none of the document's entities; of two, the surer one."""
  taken = {token for ent in doc.ents for token in range(ent.start, ent.end)}
  ents = list(doc.ents)
  for name in sorted(names, key=lambda name: -name.score):
    span = _span(doc, name.start, name.end, name.label, name.item or name.title or "")
    if taken.isdisjoint(range(span.start, span.end)):
      taken.update(range(span.start, span.end))
      ents.append(span)
      span._.set(SCORE, name.score)
  doc.set_ents(sorted(ents, key=lambda ent: ent.start))


def _span(doc: Doc, start: int, end: int, label: str = "", meaning: str = "") -> Span:
  """Returns the tokens of a document that hold some characters."""
  return doc.char_span(start, end, label=label, kb_id=meaning, alignment_mode="expand")


def _as_stored(triple: "Triple") -> list[Any]:
  head, tail = triple.head, triple.tail
  return [head.start, head.end, triple.relation, tail.start, tail.end, triple.score]


def _relations(doc: Doc) -> list[Related]:
  """Returns the relations of a document, whose names are entities of it where they are there."""
  ents = {(ent.start, ent.end): ent for ent in doc.ents}

  def name(start: int, end: int) -> Span:
    span = _span(doc, start, end)
    return ents.get((span.start, span.end), span)

  return [Related(name(*x[:2]), x[2], name(*x[3:5]), x[5]) for x in doc.user_data.get(_STORED, [])]


@Language.factory(
  "luke_jax",
  assigns=["doc.ents", "token.ent_iob", "token.ent_type", "span._.score"],
  default_score_weights={"ents_f": 1.0, "ents_p": 0.0, "ents_r": 0.0, "ents_per_type": None},
  default_config={
    "model": "english/ner",
    "labels": None,
    "threshold": None,
    "linker": None,
    "facts": None,
    "least_fact": None,
  },
)
def make(
  nlp: Language,
  name: str,
  model: str,
  labels: list[str] | dict[str, str] | None,
  threshold: float | None,
  linker: str | None,
  facts: str | None,
  least_fact: float | None,
) -> Component:
  """Returns the component with models by their directories or names.

  `labels` are those that a model with labels at run time looks for, as a list or with descriptions.
  Names of a score below `threshold` are left out, and facts below `least_fact`, or without it below
  the score from which nine in ten are right.
  """
  from luke_jax.inference.predicting import Abstaining, asked, check_share, for_predictions
  from luke_jax.inference.settings import task_of
  from luke_jax.inference.triples import Extractor
  from luke_jax.tasks import predictions

  check_share("least_fact", least_fact)
  found = _read("model", model, predictions.Span)
  task = task_of(found, **(asked(found, labels) if labels else {}))
  Abstaining(for_predictions(found, task), threshold)
  of_facts = _read("facts", facts, predictions.Fact) if facts else None
  extractor = Extractor(
    found,
    of_facts,
    _read("linker", linker, predictions.Link) if linker else None,
    labels,
    least_fact,
    threshold,
  )
  if of_facts and least_fact is None:
    extractor = extractor._replace(threshold=extractor.sure)
  return Component(name, extractor)


def _read(setting: str, place: str, answer: type) -> Any:
  from luke_jax.convert.reading import read
  from luke_jax.files import Path
  from luke_jax.inference.settings import check_answer
  from luke_jax.runs.models import backbone_of, model_directory

  directory = Path(place)
  with at(setting):
    model = read(model_directory(directory), backbone=backbone_of(directory))
    with at(place):
      check_answer(model, answer)
  return model
