"""Precision, recall and F1 of spans, as conlleval and seqeval count them."""

import collections
import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.formats.files import Faults
from luke_jax.formats.records import read_records
from luke_jax.tasks import evaluation
from luke_jax.tasks.calibration import Answered
from luke_jax.tasks.ner.columns import has_tags, read_columns
from luke_jax.tasks.ner.documents import NamesExample, labelled, to_characters
from luke_jax.tasks.ner.files import is_json_lines, spans_in, tagged_spans
from luke_jax.tasks.predictions import Labelled, Span, TaggedSpans

Spans = set[Labelled]


class Predicted(NamedTuple):
  """Predicted spans of a document in a file; for a file of columns also its number of words."""

  spans: tuple[Labelled, ...]
  words: int | None = None


def score(gold: Sequence[Spans], predicted: Sequence[Spans]) -> dict[str, float]:
  """Returns micro F1, precision and recall; a right span has the edges and label of a gold one.

  And the share of texts without a name that have predicted ones, if there are such texts.
  """
  scores = _measures(list(zip(gold, predicted, strict=True)))
  of_all = {name: scores[name] for name in ("f1", "precision", "recall")}
  return of_all | evaluation.false_answers(gold, predicted)


def _measures(pairs: Sequence[tuple[Spans, Spans]]) -> dict[str, float]:
  right, gold = (sum(len(g & p) for g, p in pairs), sum(len(g) for g, _ in pairs))
  return evaluation.precision_recall_f1(right, sum(len(p) for _, p in pairs), gold)


def read_predictions(path: Path, faults: Faults) -> dict[str, Predicted]:
  """Reads any system's predictions by the ids of documents: JSON lines, or columns with tags last.

  Tags may be of any scheme and need not be legal in it. In columns ids are numbers in order.
  """
  if is_json_lines(path):
    return dict(
      read_records(path, lambda x, id, place: (id, Predicted(spans_in(x, place))), faults)
    )
  documents = read_columns(path, faults)
  if not has_tags(documents):
    raise InputError(f"{path}: no tags; expected a column of words and one of predicted tags")
  return {
    str(number): Predicted(
      tuple(tagged_spans(document)), sum(len(sentence.lines) for sentence in document)
    )
    for number, document in enumerate(documents, start=1)
    if all(sentence.sound for sentence in document)
  }


def score_file(
  examples: Sequence[NamesExample], predicted: Mapping[str, Predicted]
) -> dict[str, float]:
  """Returns the scores of predictions by id; a document without any has no predicted entity."""
  ordered = evaluation.in_order(examples, predicted, Predicted(()))
  pairs = [
    (_gold(example), _spans(example, x)) for example, x in zip(examples, ordered, strict=True)
  ]
  return score([gold for gold, _ in pairs], [spans for _, spans in pairs])


def _gold(example: NamesExample) -> Spans:
  if example.spans is None:
    raise InputError(f"{example.place}: no spans; expected those of the entities, or tags")
  return set(example.spans)


def _spans(example: NamesExample, predicted: Predicted) -> Spans:
  """Returns the predicted spans, as characters."""
  words, where = len(example.words), f"predictions: id {example.id!r}"
  if predicted.words not in (None, words):
    raise InputError(f"{where}: {predicted.words} words; expected {words}, as in {example.place}")
  in_words = example.as_words or predicted.words is not None
  length = words if in_words else len(example.text)
  for start, end, _ in predicted.spans:
    if end > length:
      unit = "words" if in_words else "characters"
      raise InputError(f"{where}: [{start}, {end}]; expected spans of its {length} {unit}")
  return set(to_characters(example, predicted.spans) if in_words else predicted.spans)


def other_labels(
  examples: Sequence[NamesExample], predictions: Sequence[Sequence[Span]]
) -> dict[str, int]:
  """Counts the predicted spans whose label no gold span of the examples has, by label."""
  gold = {span.label for example in examples for span in _gold(example)}
  labels = collections.Counter(span.label for spans in predictions for span in spans)
  return {label: count for label, count in sorted(labels.items()) if label not in gold}


def without_labels(predictions: Sequence[Any], labels: Collection[str]) -> list[Any]:
  """Returns predictions, tagged ones too, without the spans of some labels."""
  return [_without(spans, labels) for spans in predictions]


def _without(spans: Sequence[Span], labels: Collection[str]) -> Sequence[Span]:
  others = tuple(span for span in spans if span.label not in labels)
  if not isinstance(spans, TaggedSpans):
    return list(others)
  tags = tuple("O" if tag.partition("-")[2] in labels else tag for tag in spans.tags)
  return dataclasses.replace(spans, spans=others, tags=tags)


def evaluate(
  examples: Sequence[NamesExample], predictions: Sequence[Sequence[Span]]
) -> evaluation.Evaluation:
  """Returns scores, figures for each label, which label was taken for which, and mistakes."""
  gold = [_gold(example) for example in examples]
  predicted = [set(labelled(spans)) for spans in predictions]
  pairs = list(zip(gold, predicted, strict=True))
  answers = [
    [
      Answered(span.score, place in right)
      for span, place in zip(spans, labelled(spans), strict=True)
    ]
    for right, spans in zip(gold, predictions, strict=True)
  ]
  return evaluation.Evaluation.of(
    score(gold, predicted),
    answers,
    map(len, gold),
    _mistakes(examples, predictions),
    labels=_by_label(pairs),
    confusion=_confusion(pairs),
  )


def _by_label(pairs: Sequence[tuple[Spans, Spans]]) -> dict[str, dict[str, float]]:
  table = {}
  for label in sorted({span.label for pair in pairs for spans in pair for span in spans}):
    of_label = [(_of_label(gold, label), _of_label(predicted, label)) for gold, predicted in pairs]
    table[label] = _measures(of_label) | {"count": sum(len(gold) for gold, _ in of_label)}
  return table


def _of_label(spans: Spans, label: str) -> Spans:
  return {span for span in spans if span.label == label}


def _confusion(pairs: Sequence[tuple[Spans, Spans]]) -> dict[tuple[str, str], int]:
  """Counts the predicted labels of gold spans, and of spans that are not gold."""
  counts: collections.Counter[tuple[str, str]] = collections.Counter()
  for pair in pairs:
    gold, predicted = ({(x.start, x.end): x.label for x in spans} for spans in pair)
    counts.update((gold.get(place, ""), predicted.get(place, "")) for place in gold | predicted)
  return dict(counts)


def _mistakes(
  examples: Sequence[NamesExample], predictions: Sequence[Sequence[Span]]
) -> Iterator[evaluation.Mistake]:
  """Yields predicted spans that are not gold, and gold spans that no predicted one touches.

  The latter have the certainty with which their words were tagged as no name, if they were tagged.
  """
  for example, spans in zip(examples, predictions, strict=True):
    gold, predicted = sorted(_gold(example)), labelled(spans)
    all_spans = evaluation.outcomes(gold, predicted)
    for wrong, span in zip(predicted, spans, strict=True):
      if wrong not in gold:
        touched = [x for x in gold if _touch(x, wrong)]
        shown = _shown(example, wrong, all_spans)
        yield _mistake(example, touched, (span, span.score), shown)
    for missed in gold:
      if not any(_touch(missed, x) for x in predicted):
        answer, shown = (None, _passed(example, missed, spans)), _shown(example, missed, all_spans)
        yield _mistake(example, [missed], answer, shown)


def _passed(example: NamesExample, missed: Labelled, spans: Sequence[Span]) -> float:
  """Returns the least certainty of the tags of a span's words; 0 where words have no tags."""
  if not isinstance(spans, TaggedSpans):
    return 0.0
  scored = zip(example.words, spans.scores, strict=True)
  inside = [x for (start, end), x in scored if missed.start < end and start < missed.end]
  return min(inside, default=0.0)


def _touch(one: Labelled, other: Labelled) -> bool:
  return one.start < other.end and other.start < one.end


def _shown(
  example: NamesExample, at: Labelled, spans: Sequence[tuple[Labelled, evaluation.Outcome]]
) -> tuple[str, tuple[evaluation.Mark, ...]]:
  """Returns the sentence around a span, and marks for all spans in it, this one first."""
  start = max((s[0][0] for s in example.sentences if s[0][0] <= at.start), default=at.start)
  end = min((s[-1][1] for s in example.sentences if s[-1][1] >= at.end), default=at.end)
  inside = [(x, outcome) for x, outcome in spans if start <= x.start and x.end <= end]
  marks = [
    evaluation.Mark(x.start - start, x.end - start, x.label, outcome) for x, outcome in inside
  ]
  first = (at.start - start, at.end - start, at.label)
  return example.text[start:end], tuple(sorted(marks, key=lambda mark: mark[:3] != first))


def _mistake(
  example: NamesExample,
  gold: Sequence[Labelled],
  answer: tuple[Span | None, float],
  shown: tuple[str, tuple[evaluation.Mark, ...]],
) -> evaluation.Mistake:
  predicted, score = answer
  correct = ", ".join(f"{x.label}: {example.text[x.start : x.end]}" for x in gold) or "nothing"
  prediction = f"{predicted.label}: {predicted.text}" if predicted else "nothing"
  return evaluation.Mistake(example.id, *shown, correct, prediction, score)
