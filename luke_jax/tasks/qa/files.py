"""Examples of extractive question answering in files."""

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.formats.files import Faults, Text, check_fields, listed, read_json, read_text, string
from luke_jax.formats.records import read_records
from luke_jax.tasks.answers import check_language
from luke_jax.text.tokenizer import Bounds

COLUMNS = ("text", "question", "answers", "title", "language")  # of a spreadsheet
FIELDS = ("question", "title", "entities", "question_entities", "answers", "language")
_OF_MLQA = re.compile(r"-context-([a-z]{2})-question-[a-z]{2}$")


class EntityReference(NamedTuple):
  """A stretch of a text that refers to an entity of Wikipedia."""

  start: int
  end: int
  title: str


@dataclasses.dataclass(frozen=True)
class QuestionExample:
  """A question about a text and, if known, its answers, of which there may be none."""

  id: str
  place: str  # file and line
  text: str
  question: str
  answers: tuple[Bounds, ...] | None = None
  title: str | None = None  # of the article in Wikipedia that the text is from
  entities: tuple[EntityReference, ...] | None = None  # of the text; None: not known
  question_entities: tuple[EntityReference, ...] | None = None
  language: str = ""  # by whose rules answers are compared, as in MLQA; "": by SQuAD's


def read(path: Path, faults: Faults, language: str = "") -> list[QuestionExample]:
  """Reads JSON lines, spreadsheets, or the JSON of SQuAD, in which XQuAD and MLQA are too.

  `language` is that of the examples of which neither the file nor its name tells one: MLQA's files
  are named by the languages of context and question, such as test-context-de-question-ar.json.
  """
  named = _OF_MLQA.search(path.stem)
  language = named[1] if named else language
  check_language(language, str(path))
  if path.suffix == ".json":
    examples = list(_squad(path, faults))
  else:
    examples = read_records(path, _of_any_form, faults, COLUMNS)
  if not language:
    return examples
  return [x if x.language else dataclasses.replace(x, language=language) for x in examples]


def parse(value: Mapping[str, object], id: str, place: str) -> QuestionExample:
  """Returns the example in an object of JSON lines."""
  check_fields(value, FIELDS, place)
  text = read_text(value, place)
  question = string(value, "question", place)
  if not question.strip():
    raise InputError(f"{place}: question: empty; expected a question")
  language = string(value, "language", place) if "language" in value else ""
  check_language(language, f"{place}: language")
  return QuestionExample(
    id,
    place,
    text.text,
    question,
    _answers(value, text, place),
    string(value, "title", place) if "title" in value else None,
    _links(value, "entities", text, place),
    _links(value, "question_entities", read_text({"text": question}, place), place),
    language,
  )


def _of_any_form(value: Mapping[str, object], id: str, place: str) -> QuestionExample:
  """Returns an example of ours, or of SQuAD as Hugging Face's hub has it."""
  if "context" not in value or "text" in value:
    return parse(value, id, place)
  ours = {("text" if name == "context" else name): x for name, x in value.items()}
  answers, text = value.get("answers"), string(value, "context", place)
  if isinstance(answers, dict):
    texts, starts = (listed(answers, name, place) for name in ("text", "answer_start"))
    pairs = ({"text": x, "answer_start": y} for x, y in zip(texts, starts, strict=False))
    ours["answers"] = [_checked_span(pair, text, place) for pair in pairs]
  return parse(ours, id, place)


def _answers(value: Mapping[str, object], text: Text, place: str) -> tuple[Bounds, ...] | None:
  if "answers" not in value:
    return None
  spans = (_span(span, "answers", text, place) for span in listed(value, "answers", place))
  return tuple(dict.fromkeys(spans))


def _links(
  value: Mapping[str, object], name: str, text: Text, place: str
) -> tuple[EntityReference, ...] | None:
  if name not in value:
    return None
  links = []
  for link in listed(value, name, place):
    if not isinstance(link, list | tuple) or len(link) != 3 or not isinstance(link[2], str):
      raise InputError(f"{place}: {name}: {link!r}; expected [start, end, title]")
    links.append(EntityReference(*_span(link[:2], name, text, place), link[2]))
  return tuple(links)


def _span(span: object, name: str, text: Text, place: str) -> Bounds:
  start, end = text.span(span, name, first=True)
  if not text.text[start:end].strip():
    raise InputError(f"{place}: {name}: [{start}, {end}]: white space alone; expected words")
  return start, end


def _squad(path: Path, faults: Faults) -> Iterator[QuestionExample]:
  ids: set[str] = set()
  for number, article in enumerate(_objects(read_json(path), "data", str(path)), start=1):
    place = f"{path}: article {number}"
    with faults.caught():
      for paragraph in _objects(article, "paragraphs", place):
        with faults.caught():
          string(paragraph, "context", place)
          for question in _objects(paragraph, "qas", place):
            with faults.caught():
              example = _question(article, paragraph, question, place)
              if example.id in ids:
                raise InputError(f"{example.place}: a second of that id; expected it once")
              ids.add(example.id)
              yield example


def _objects(value: object, name: str, place: str) -> Sequence[Mapping[str, object]]:
  items = listed(value, name, place) if isinstance(value, dict) else None
  if items is None or not all(isinstance(item, dict) for item in items):
    raise InputError(f"{place}: {name}: no list of objects; expected SQuAD's JSON")
  return items


def _question(
  article: Mapping[str, Any], paragraph: Mapping[str, Any], question: Mapping[str, Any], within: str
) -> QuestionExample:
  id, text = string(question, "id", within), paragraph["context"]
  place = f"{within}: question {id!r}"
  value = {"text": text, "question": question.get("question")}
  if "title" in article:
    value["title"] = article["title"]
  if "answers" in question:
    value["answers"] = [_checked_span(x, text, place) for x in _objects(question, "answers", place)]
    if bool(question.get("is_impossible")) == bool(value["answers"]):
      contradiction = (
        f"is_impossible: {question.get('is_impossible')}, {len(value['answers'])} answers"
      )
      raise InputError(
        f"{place}: {contradiction}; expected answers where there can be some, or none"
      )
  return parse(value, id, place)


def _checked_span(answer: Mapping[str, object], text: str, place: str) -> list[int]:
  """Returns the span of an answer, checked against the answer's text."""
  expected, start = string(answer, "text", place), answer.get("answer_start")
  if type(start) is not int or start < 0:
    raise InputError(f"{place}: answer_start: {start!r}; expected a whole number from 0")
  actual = text[start : start + len(expected)]
  if actual != expected:
    raise InputError(
      f"{place}: answer {expected!r}: at {start} stands {actual!r}; expected the answer"
    )
  return [start, start + len(expected)]
