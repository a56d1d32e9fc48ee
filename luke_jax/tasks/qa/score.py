"""Metrics of extractive question answering: exact match and F1, as SQuAD's scripts define them.

The rules are those of SQuAD 1.1 where every question has an answer, and else those of SQuAD 2.0.
They differ in how they take answers of which nothing is left once normalized. Where an example has
a language, answers are compared as MLQA's script does.
"""

from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np

from luke_jax.errors import InputError
from luke_jax.tasks.answers import answer_marks, exact_match, normalized, read_predictions, token_f1
from luke_jax.tasks.calibration import Answered, wanted_of
from luke_jax.tasks.evaluation import Evaluation, Mistake, false_answers
from luke_jax.tasks.predictions import Answer
from luke_jax.tasks.qa.files import QuestionExample

__all__ = ["best_thresholds", "evaluate", "read_predictions", "score", "score_file"]

METRICS = ("exact_match", "f1")
Golds = Sequence[Sequence[str]]  # the answers of each question, none if it has none


def score(
  gold: Golds, predicted: Sequence[str | None], languages: Sequence[str] = ()
) -> dict[str, float]:
  """Returns means over all questions and, if some have no answer, over both kinds of them.

  "" as a prediction means "no answer". None is a question without a prediction, and scores 0, as in
  SQuAD 1.1; the script of 2.0 does not accept it.
  """
  pairs = _pairs(gold, predicted, languages)
  answered = np.array([bool(golds) for golds in gold], bool)
  splits = {"": np.full(len(pairs), True)}
  if not answered.all():
    splits |= {"has_answer_": answered, "no_answer_": ~answered}
  scores = {
    split + metric: float(pairs[members, i].sum() / max(1, members.sum()))
    for split, members in splits.items()
    for i, metric in enumerate(METRICS)
  }
  return scores | false_answers(gold, predicted)


def score_file(
  examples: Sequence[QuestionExample], predicted: Mapping[str, str]
) -> dict[str, float]:
  """Returns the scores of answers by id; those of other questions do not count."""
  answers = [predicted.get(example.id) for example in examples]
  return score(list(map(_golds, examples)), answers, _languages(examples))


def evaluate(
  examples: Sequence[QuestionExample], predictions: Sequence[Sequence[Answer]]
) -> Evaluation:
  """Returns the scores of the best answers, and the mistakes among them.

  If some questions have no answer, also returns the thresholds with the best scores.
  """
  gold, best = list(map(_golds, examples)), [answers[0] for answers in predictions]
  languages = _languages(examples)
  scores = score(gold, [answer.text for answer in best], languages)
  table = {}
  if not all(gold):
    scores |= best_thresholds(gold, predictions, languages)
    for kind, count in (("has answer", sum(map(bool, gold))), ("no answer", gold.count([]))):
      split = kind.replace(" ", "_")
      table[kind] = {metric: scores[f"{split}_{metric}"] for metric in METRICS} | {"count": count}
  answers = [
    [Answered(x.score, exact_match(x.text, texts, language))] if x.text else []
    for texts, x, language in zip(gold, best, languages, strict=True)
  ]
  wanted = wanted_of(answers, (int(bool(texts)) for texts in gold))
  return Evaluation(scores, table, {}, _mistakes(examples, best), list(chain(*answers)), wanted)


def best_thresholds(
  gold: Golds, predictions: Sequence[Sequence[Answer]], languages: Sequence[str] = ()
) -> dict[str, float]:
  """Returns for each metric the best `null_threshold`, and the score with it."""
  texts = [next((x.text for x in answers if x.text), "") for answers in predictions]
  odds, has_answer = np.array(list(map(null_odds, predictions))), np.array(list(map(bool, gold)))
  # The gain of answering each question, if its prediction was "no answer" before.
  lost = [[bool(text)] * len(METRICS) for text in texts]
  gains = np.where(has_answer[:, None], _pairs(gold, texts, languages), -np.array(lost, float))
  order = np.argsort(odds, kind="stable")
  thresholds = [odds[order[0]] - 1, *odds[order]]
  totals = (~has_answer).sum() + np.cumsum(np.vstack([np.zeros((1, 2)), gains[order]]), axis=0)
  best_scores = {}
  for metric, total in zip(METRICS, totals.T, strict=True):
    best = int(np.argmax(total))
    best_scores[f"best_{metric}"] = float(total[best] / len(gold))
    best_scores[f"best_{metric}_threshold"] = float(thresholds[best])
  return best_scores


def null_odds(answers: Sequence[Answer]) -> float:
  """Returns the score of "no answer" less that of the best answer, from their probabilities."""
  least = np.finfo(float).tiny
  none, some = (
    max((x.score for x in answers if bool(x.text) == kind), default=0.0) for kind in (False, True)
  )
  return float(np.log(max(none, least)) - np.log(max(some, least)))


def _golds(example: QuestionExample) -> list[str]:
  if example.answers is None:
    raise InputError(f"{example.place}: answers: missing; expected a list of them")
  return [example.text[start:end] for start, end in example.answers]


def _languages(examples: Sequence[QuestionExample]) -> list[str]:
  return [example.language for example in examples]


def _pairs(
  gold: Golds, predicted: Sequence[str | None], languages: Sequence[str] = ()
) -> np.ndarray:
  """Returns exact match and F1 of each question, (questions, 2)."""
  measure = _first_version if all(gold) else _second_version
  pairs = [
    (0.0, 0.0) if answer is None else measure(answer, golds, language)
    for golds, answer, language in zip(gold, predicted, languages or [""] * len(gold), strict=True)
  ]
  return np.array(pairs, float).reshape(-1, len(METRICS))


def _first_version(answer: str, golds: Sequence[str], language: str) -> tuple[float, float]:
  return float(exact_match(answer, golds, language)), token_f1(answer, golds, language)


def _second_version(answer: str, golds: Sequence[str], language: str) -> tuple[float, float]:
  golds = [gold for gold in golds if normalized(gold, language)] or [""]
  exact = float(exact_match(answer, golds, language))
  return exact, token_f1(answer, golds, language) if normalized(answer, language) else exact


def _mistakes(examples: Sequence[QuestionExample], best: Sequence[Answer]) -> list[Mistake]:
  texts = [answer.text for answer in best]
  pairs = _pairs(list(map(_golds, examples)), texts, _languages(examples))
  mistakes = []
  for example, answer, (exact, f1) in zip(examples, best, pairs.tolist(), strict=True):
    if not exact:
      correct = " | ".join(dict.fromkeys(_golds(example))) or "no answer"
      prediction, badness = answer.text or "no answer", answer.score * (1 - f1)
      marks = answer_marks(example.answers or (), answer)
      of_text = (example.id, example.text, marks, correct, prediction)
      mistakes.append((badness, Mistake(*of_text, answer.score, example.question)))
  return [mistake for _, mistake in sorted(mistakes, key=lambda pair: -pair[0])]
