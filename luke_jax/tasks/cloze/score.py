"""Exact match and F1 as ReCoRD's script counts them."""

from collections.abc import Iterator, Mapping, Sequence

from luke_jax.errors import InputError
from luke_jax.tasks.answers import answer_marks, exact_match, read_predictions, token_f1
from luke_jax.tasks.calibration import Answered
from luke_jax.tasks.cloze.files import ClozeExample
from luke_jax.tasks.evaluation import Evaluation, Mistake
from luke_jax.tasks.predictions import Answer

__all__ = ["evaluate", "read_predictions", "score", "score_file"]


def score(gold: Sequence[Sequence[str]], predicted: Sequence[str | None]) -> dict[str, float]:
  """Returns exact match and F1: means over questions, against the gold answer that agrees best.

  None is no answer, and scores 0.
  """
  pairs = [
    (answer, golds) for golds, answer in zip(gold, predicted, strict=True) if answer is not None
  ]
  count = max(1, len(gold))
  return {
    "exact_match": sum(exact_match(*pair) for pair in pairs) / count,
    "f1": sum(token_f1(*pair) for pair in pairs) / count,
  }


def score_file(examples: Sequence[ClozeExample], predicted: Mapping[str, str]) -> dict[str, float]:
  """Returns the scores of answers by id.

  A missing answer scores 0, and answers with other ids do not count.
  """
  return score(list(map(_golds, examples)), [predicted.get(example.id) for example in examples])


def evaluate(
  examples: Sequence[ClozeExample], predictions: Sequence[Sequence[Answer]]
) -> Evaluation:
  """Returns the scores of the best candidates, and the mistakes among them."""
  best = [answers[0] if answers else None for answers in predictions]
  scores = score(list(map(_golds, examples)), [answer.text if answer else None for answer in best])
  answers = [
    [Answered(x.score, exact_match(x.text, _golds(example)))] if x else []
    for example, x in zip(examples, best, strict=True)
  ]
  return Evaluation.of(scores, answers, [1] * len(examples), _mistakes(examples, best))


def _golds(example: ClozeExample) -> list[str]:
  if not example.answers:
    raise InputError(f"{example.place}: answers: none; expected one at least")
  return [example.text[start:end] for start, end in example.answers]


def _mistakes(examples: Sequence[ClozeExample], best: Sequence[Answer | None]) -> Iterator[Mistake]:
  for example, answer in zip(examples, best, strict=True):
    golds = _golds(example)
    if answer is None or not exact_match(answer.text, golds):
      prediction, score = (answer.text, answer.score) if answer else ("", 0.0)
      correct = ", ".join(dict.fromkeys(golds))
      marks = answer_marks(example.answers or (), answer)
      of_text = (example.id, example.text, marks, correct, prediction)
      yield Mistake(*of_text, score, example.query)
