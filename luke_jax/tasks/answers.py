"""Predicted answers: files of them, and how the scripts of SQuAD and ReCoRD compare them."""

import collections
import re
import string
from collections.abc import Mapping, Sequence

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.tasks import files
from luke_jax.tasks.evaluation import Mark, outcomes
from luke_jax.tasks.files import Faults
from luke_jax.tasks.predictions import Answer
from luke_jax.text.special_tokens import Bounds

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalized(text: str) -> str:
  """Returns the text in lower case, without ASCII punctuation, articles and repeated spaces."""
  return " ".join(_ARTICLES.sub(" ", text.lower().translate(_WITHOUT_PUNCTUATION)).split())


def exact_match(answer: str, golds: Sequence[str]) -> bool:
  """Returns whether the answer is one of the gold answers once both are normalized."""
  return normalized(answer) in map(normalized, golds)


def token_f1(answer: str, golds: Sequence[str]) -> float:
  """Returns the highest F1 of the answer's words against a gold answer.

  If both are empty once normalized, it is 0, as in SQuAD 1.1 and ReCoRD. SQuAD 2.0 differs: for an
  answer that is empty once normalized, it takes `exact_match` for F1.
  """
  return max(
    (_f1(normalized(answer).split(), normalized(gold).split()) for gold in golds), default=0.0
  )


def _f1(answer: list[str], gold: list[str]) -> float:
  same = (collections.Counter(answer) & collections.Counter(gold)).total()
  if not same:
    return 0.0
  precision, recall = same / len(answer), same / len(gold)
  return 2 * precision * recall / (precision + recall)


def read_predictions(path: Path, faults: Faults) -> dict[str, str]:
  """Reads answers by id from JSON lines, or from the scripts' one object in a file `*.json`."""
  if path.suffix != ".json":
    return dict(files.read_json_lines(path, _prediction, faults))
  value = files.read_json(path)
  if not isinstance(value, dict):
    raise InputError(f"{path}: a {type(value).__name__}; expected an object of id -> answer")
  answers = {}
  for id in value:
    with faults.caught():
      answers[id] = files.string(value, id, str(path))
  return answers


def _prediction(value: Mapping[str, object], id: str, place: str) -> tuple[str, str]:
  return id, files.string(value, "answer", place)


def answer_marks(gold: Sequence[Bounds], predicted: Answer | None) -> tuple[Mark, ...]:
  """Returns marks for the answers of a passage and for the predicted one, if it has any text."""
  spans = [(predicted.start, predicted.end)] if predicted and predicted.text else []
  marked = outcomes(list(dict.fromkeys(gold)), spans)
  return tuple(Mark(*bounds, "answer", outcome) for bounds, outcome in marked)
