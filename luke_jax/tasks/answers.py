"""Predicted answers: files of them, and how the scripts of SQuAD, ReCoRD and MLQA compare them."""

import collections
import re
import string
import unicodedata
from collections.abc import Sequence

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.formats import files
from luke_jax.formats.files import Faults
from luke_jax.formats.records import read_records
from luke_jax.tasks.evaluation import Mark, outcomes
from luke_jax.tasks.predictions import Answer
from luke_jax.text.tokenizer import Bounds

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)
# Of MLQA's languages. Its pattern for Arabic, whose article is part of a word, is taken as it is.
_ARTICLES_OF = {
  "ar": re.compile(r"\sال^|ال"),
  "de": re.compile(r"\b(ein|eine|einen|einem|eines|einer|der|die|das|den|dem|des)\b"),
  "en": _ARTICLES,
  "es": re.compile(r"\b(un|una|unos|unas|el|la|los|las)\b"),
  "hi": None,
  "vi": re.compile(r"\b(của|là|cái|chiếc|những)\b"),
  "zh": None,
}
_CHINESE = re.compile("([\u4e00-\u9fa5])")


def check_language(language: str, place: str) -> None:
  """Raises InputError for a language that MLQA's metric has no rules for; "" is none."""
  if language and language not in _ARTICLES_OF:
    expected = ", ".join(_ARTICLES_OF)
    raise InputError(f"{place}: {language!r}: no language of MLQA; expected one of {expected}")


def normalized(text: str, language: str = "") -> str:
  """Returns the text in lower case, without punctuation, articles and repeated spaces.

  These are ASCII's punctuation and the English articles, as in SQuAD. With a language they are all
  punctuation of Unicode and its own articles, as in MLQA, and characters of Chinese are words.
  """
  if not language:
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_WITHOUT_PUNCTUATION)).split())
  text = "".join(char for char in text.lower() if not _is_punctuation(char))
  if articles := _ARTICLES_OF[language]:
    text = articles.sub(" ", text)
  if language == "zh":
    text = _CHINESE.sub(r" \1 ", text)
  return " ".join(text.split())


def _is_punctuation(char: str) -> bool:
  return char in string.punctuation or unicodedata.category(char).startswith("P")


def exact_match(answer: str, golds: Sequence[str], language: str = "") -> bool:
  """Returns whether the answer is one of the gold answers once both are normalized."""
  return normalized(answer, language) in (normalized(gold, language) for gold in golds)


def token_f1(answer: str, golds: Sequence[str], language: str = "") -> float:
  """Returns the highest F1 of the answer's words against a gold answer.

  If both are empty once normalized, it is 0, as in SQuAD 1.1 and ReCoRD. SQuAD 2.0 differs: for an
  answer that is empty once normalized, it takes `exact_match` for F1.
  """
  words = normalized(answer, language).split()
  return max((_f1(words, normalized(gold, language).split()) for gold in golds), default=0.0)


def _f1(answer: list[str], gold: list[str]) -> float:
  same = (collections.Counter(answer) & collections.Counter(gold)).total()
  if not same:
    return 0.0
  precision, recall = same / len(answer), same / len(gold)
  return 2 * precision * recall / (precision + recall)


def read_predictions(path: Path, faults: Faults) -> dict[str, str]:
  """Reads answers by id from JSON lines, or from the scripts' one object in a file `*.json`."""
  if path.suffix != ".json":
    return dict(read_records(path, lambda x, id, at: (id, files.string(x, "answer", at)), faults))
  value = files.read_json(path)
  if not isinstance(value, dict):
    raise InputError(f"{path}: a {type(value).__name__}; expected an object of id -> answer")
  answers = {}
  for id in value:
    with faults.caught():
      answers[id] = files.string(value, id, str(path))
  return answers


def answer_marks(gold: Sequence[Bounds], predicted: Answer | None) -> tuple[Mark, ...]:
  """Returns marks for the answers of a passage and for the predicted one, if it has any text."""
  spans = [(predicted.start, predicted.end)] if predicted and predicted.text else []
  marked = outcomes(list(dict.fromkeys(gold)), spans)
  return tuple(Mark(*bounds, "answer", outcome) for bounds, outcome in marked)
