"""Rows of every task with `authors` are those that the authors' code makes of the same files."""

import dataclasses
import json
from typing import Any

import pytest
from authors.recorded import unequal

from luke_jax.formats.files import Faults
from luke_jax.tasks.cloze.task import ClozeAnswering
from luke_jax.tasks.ner.task import NamedEntities
from luke_jax.tasks.qa.files import EntityReference
from luke_jax.tasks.qa.task import QuestionAnswering
from luke_jax.tasks.relations.task import RelationClassification
from luke_jax.tasks.running import fitted
from luke_jax.tasks.typing.task import EntityTyping
from luke_jax.text import EntityVocab, Processor
from luke_jax.text.entity_vocab import SPECIAL_ENTITIES

pytestmark = [
  pytest.mark.real_data,
  pytest.mark.filterwarnings("ignore:.* cannot be found:UserWarning"),
  pytest.mark.filterwarnings("ignore:.* questions are cut:UserWarning"),
]


@pytest.fixture
def rows_of(tokenizer, tmp_path):
  """Reads what the authors' code was given, and returns examples and rows of a task."""

  def rows(task: Any, text: str, suffix: str = ".json", words: tuple[str, ...] = ()):
    file = tmp_path / f"data{suffix}"
    file.write_text(text, encoding="utf-8")
    examples = task.read(file, Faults())
    made = Processor(tokenizer.with_words([*words, *task.new_words]), SPECIAL_ENTITIES)
    return examples, task.features(fitted(task, made), examples)

  return rows


def cut(tokens, most=30):
  """Positions of mentions as the authors' arrays have room for them."""
  return [[start, min(end, start + most)] for start, end in tokens.tolist()]


def columns(sentences):
  """A document as a file of CoNLL-2003 has it."""
  lines = [
    "".join(f"{word} _ _ {tag}\n" for word, tag in zip(x["words"], x["tags"], strict=True))
    for x in sentences
  ]
  return "\n".join(["-DOCSTART- -X- -X- O\n", *lines])


def test_named_entities(cases, rows_of):
  header, recorded = cases("ner_rows")
  labels = tuple(header["settings"]["labels"])

  def equal(case):
    sizes = {"words": case["max_seq_length"], "entities": case["max_entity_length"]}
    task = NamedEntities(labels=labels, authors=True, **sizes)
    _, rows = rows_of(task, columns(case["sentences"]), ".txt")
    found = [
      [x.input_ids.tolist(), cut(x.entity_tokens), x.source.tolist(), x.labels.tolist()]
      for x in rows
    ]
    names = ("entity_positions", "word_spans", "labels")
    candidates = [[i for i, span in enumerate(x["word_spans"]) if span] for x in case["rows"]]
    return found == [
      [x["word_ids"], *([x[name][i] for i in own] for name in names)]
      for x, own in zip(case["rows"], candidates, strict=True)
    ]

  assert unequal(recorded, equal) == []


def test_relations(cases, rows_of):
  header, recorded = cases("relation_rows")
  task = RelationClassification(
    words=1024, labels=tuple(header["settings"]["labels"]), authors=True
  )

  def equal(case):
    _, (row,) = rows_of(task, json.dumps([case["item"]]))
    return [row.input_ids.tolist(), cut(row.entity_tokens), row.labels] == [
      case[name] for name in ("word_ids", "entity_positions", "label")
    ]

  assert unequal(recorded, equal) == []


def test_typing(cases, rows_of):
  header, recorded = cases("typing_rows")
  task = EntityTyping(words=1024, labels=tuple(header["settings"]["labels"]), authors=True)

  def equal(case):
    # [ENTITY] has a number after [HEAD] and [TAIL] there; here <ent> is the first of the markers.
    _, (row,) = rows_of(task, json.dumps([case["item"]]))
    ids = [50267 if id == 50265 else id for id in row.input_ids.tolist()]
    found = [ids, cut(row.entity_tokens), row.labels.tolist()]
    return found == [case["word_ids"], case["entity_positions"][:1], case["labels"]]

  assert unequal(recorded, equal) == []


def test_cloze(cases, rows_of):
  _, recorded = cases("record_rows")

  def equal(case):
    sizes = {"words": case["settings"]["max_seq_length"], "entities": 1024}
    task = ClozeAnswering(stride=case["settings"]["doc_stride"], authors=True, **sizes)
    (example,), rows = rows_of(task, json.dumps({"data": [case["data"]]}))
    found = [
      [
        x.input_ids.tolist(),
        [x.entity_tokens[0].tolist(), *cut(x.entity_tokens[1:])],
        [list(example.entities[i]) for i in x.source],
        x.labels.tolist(),
      ]
      for x in rows
    ]
    return found == [
      [
        x["word_ids"],
        [x["placeholder_position"], *x["entity_positions"]],
        x["entities"],
        x["labels"],
      ]
      for x in case["rows"]
    ]

  assert unequal(recorded, equal) == []


def squad(case):
  question = {name: case[name] for name in ("question", "answers", "is_impossible")}
  paragraph = {"context": case["context"], "qas": [{"id": case["qas_id"], **question}]}
  return json.dumps({"data": [{"title": case["title"], "paragraphs": [paragraph]}]})


def test_questions(cases, rows_of):
  _, recorded = cases("squad_rows")

  def equal(case):
    settings = case["settings"]
    task = QuestionAnswering(
      words=settings["max_seq_length"],
      stride=settings["doc_stride"],
      question_words=settings["max_query_length"],
      unanswerable=True,
      authors=True,
    )
    _, rows = rows_of(task, squad(case))
    expected = [x["word_ids"] for x in case["rows"]]
    places = [[x["start_positions"], x["end_positions"]] for x in case["rows"]]
    same = [x.input_ids.tolist() for x in rows] == expected
    # Training has one answer to a question; where a case has several, the first one counts here.
    if len(case["answers"]) == 1:
      same &= [[[start], [end]] for start, end in (x.labels.tolist() for x in rows)] == places
    return same

  assert unequal(recorded, equal) == []


def links(case, rows, tokenizer):
  """What the authors' code found in question and passage, as characters with titles."""
  titles = {id: title for title, id in case["entity_vocab"].items()}
  (question,) = tokenizer.encode([f" {case['question']}"], offsets=True)
  asked, passage = set(), set()
  for row, recorded in zip(rows, case["rows"], strict=True):
    start, place, offsets = row.source
    found = zip(recorded["entity_ids"], recorded["entity_positions"], strict=True)
    for id, (first, after) in ((id, span) for id, span in found if span):
      if first >= place:
        at = offsets[first - place + start][0], offsets[after - 1 - place + start][1]
        passage.add(EntityReference(int(at[0]), int(at[1]), titles[id]))
      else:
        at = question.offsets[first - 1][0] - 1, question.offsets[after - 2][1] - 1
        asked.add(EntityReference(max(at[0], 0), at[1], titles[id]))
  return {"question_entities": tuple(sorted(asked)), "entities": tuple(sorted(passage))}


def test_entities_of_questions(cases, rows_of, tokenizer):
  _, recorded = cases("squad_rows")

  def equal(case):
    settings = case["settings"]
    sizes = {"words": settings["max_seq_length"], "stride": settings["doc_stride"]}
    sizes |= {"question_words": settings["max_query_length"]}
    task = QuestionAnswering(unanswerable=True, authors=True, **sizes)
    (example,), rows = rows_of(task, squad(case))
    linked = dataclasses.replace(example, **links(case, rows, tokenizer))
    vocab = EntityVocab({"[PAD]": 0, "[UNK]": 1, "[MASK]": 2} | case["entity_vocab"])
    reader = fitted(task, Processor(tokenizer, vocab))
    found = [
      [x.input_ids.tolist(), x.entity_ids.tolist(), cut(x.entity_tokens)]
      for x in task.features(reader, [linked])
    ]
    own = [[i for i, span in enumerate(x["entity_positions"]) if span] for x in case["rows"]]
    return found == [
      [x["word_ids"], *([x[name][i] for i in kept] for name in ("entity_ids", "entity_positions"))]
      for x, kept in zip(case["rows"], own, strict=True)
    ]

  assert unequal(recorded, equal) == []
