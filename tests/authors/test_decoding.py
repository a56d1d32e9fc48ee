"""Predictions from logits are those of the authors' code."""

from pathlib import Path

import numpy as np
import pytest
from authors.recorded import read, unequal
from authors.test_rows import columns, squad

from luke_jax.formats.files import Faults
from luke_jax.tasks.ner.documents import labelled, to_words
from luke_jax.tasks.ner.task import NamedEntities
from luke_jax.tasks.qa.task import QuestionAnswering
from luke_jax.tasks.running import fitted
from luke_jax.text import Processor, Row
from luke_jax.text.entity_vocab import SPECIAL_ENTITIES

GOLDEN = Path(__file__).parents[1] / "goldens" / "authors" / "ner_decoding.jsonl.gz"


def padded(rows, fill=-9.0):
  """Logits of rows as one array."""
  arrays = [np.asarray(row, np.float32) for row in rows]
  wide = np.full((len(arrays), max(map(len, arrays)), *arrays[0].shape[1:]), fill, np.float32)
  for line, array in zip(wide, arrays, strict=True):
    line[: len(array)] = array
  return wide


def ner_rows(case):
  """Rows with the candidates of a case, and their logits; null is padding."""
  rows, logits = [], []
  for x in case["rows"]:
    own = [i for i, span in enumerate(x["word_spans"]) if span]
    spans = np.array([x["word_spans"][i] for i in own], np.int32).reshape(-1, 2)
    no_tokens = np.zeros(0, np.int32)
    rows.append(Row(0, no_tokens, np.zeros(len(own), np.int32), no_tokens, source=spans))
    logits.append([x["logits"][i] for i in own])
  return rows, padded(logits)


def test_a_few_documents(tmp_path):
  named_entities(*read(GOLDEN), tmp_path)


@pytest.mark.real_data
def test_named_entities(cases, tmp_path):
  named_entities(*cases("ner_decoding"), tmp_path)


def named_entities(header, recorded, tmp_path):
  task = NamedEntities(labels=tuple(header["settings"]["labels"]), authors=True)

  def equal(case):
    file = tmp_path / "data.txt"
    file.write_text(columns(case["sentences"]), encoding="utf-8")
    (example,) = task.read(file, Faults())
    rows, logits = ner_rows(case)
    (spans,) = task.decode([example], rows, {"logits": logits})
    words = [[x.start, x.end, x.label] for x in to_words(example, labelled(spans))]
    scores = task.evaluate([example], [spans]).scores
    names = ("f1", "precision", "recall")
    return words == sorted(case["predicted_spans"]) and all(
      scores[name] == pytest.approx(case["scores"][name], abs=1e-6) for name in names
    )

  assert unequal(recorded, equal) == []


# Among the other answers are some that begin or end within a character, or with a line break in
# them: the authors' code puts texts together of pieces, and here they are cut from the passage.
OTHER_TEXTS = ["squadd-031", "squadd-059", "squadd-076", "squadd-107"]


@pytest.mark.real_data
def test_questions(cases, tokenizer, tmp_path):
  _, recorded = cases("squad_decoding")

  def equal(case):
    settings, choice = case["settings"], case["choice"]
    task = QuestionAnswering(
      words=settings["max_seq_length"],
      stride=settings["doc_stride"],
      question_words=settings["max_query_length"],
      answer_words=choice["max_answer_length"],
      n_best=choice["n_best_size"],
      unanswerable=choice["version_2_with_negative"],
      null_threshold=choice["null_score_diff_threshold"],
      authors=True,
    )
    file = tmp_path / "data.json"
    unanswered = {"title": "", "answers": [], "is_impossible": True}
    file.write_text(squad(case | unanswered), encoding="utf-8")
    (example,) = task.read(file, Faults())
    rows = task.features(fitted(task, Processor(tokenizer, SPECIAL_ENTITIES)), [example])
    assert [row.input_ids.tolist() for row in rows] == [x["word_ids"] for x in case["rows"]]
    names = ("start_logits", "end_logits")
    outputs = {name: padded([x[name] for x in case["rows"]]) for name in names}
    (answers,) = task.decode([example], rows, outputs)
    assert answers[0].text == case["prediction"]
    best = {"text": [x[0] for x in case["n_best"]], "score": [x[3] for x in case["n_best"]]}
    assert [answer.score for answer in answers] == pytest.approx(best["score"], abs=1e-5)
    return [answer.text for answer in answers] == best["text"]

  assert unequal(recorded, equal) == OTHER_TEXTS
