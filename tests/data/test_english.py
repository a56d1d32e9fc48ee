"""The builder of the English sets, on originals of a few lines each."""

import gzip
import json
from collections import Counter

import pytest

from data.english import described, zero_shot
from data.english.beside import f1
from data.english.cut import RELATIONS, SAMPLE, SENTENCES, names, relations
from data.english.make import DOMAINS, WNUT, main, types
from data.english.named import write
from data.english.pages import join, text_of
from data.english.texts import read_columns
from luke_jax.formats.files import Faults
from luke_jax.tasks.known import task_class
from luke_jax.tasks.predictions import Span

CROSSNER = "Marie\tB-scientist\nCurie\tI-scientist\nused\tO\nradium\tB-chemicalelement\n.\tO\n\n"
WNUT17 = "Bo\tB-person\nat\tO\nAcme\tB-corporation\n\t\nhi\tO\n"
REPEATED = "Bo\tB-researcher\nagrees\tO\n\n"  # in training and in the test
DANISH = "Danish\tB-misc\nart\tO\n\n"
UNER = "# text = In Rome\n1\tIn\tO\t-\t-\n2\tRome\tB-LOC\t-\tx\n\n# text = Hi\n1\tHi\tO\t-\t-\n"
FEWREL = {
  "P25": [{"tokens": ["Ana", "bore", "Bo"], "h": ["b", "Q", [[2]]], "t": ["a", "Q", [[0]]]}]
}
SEMEVAL = {
  "token": ["the", "arm", "of", "Bo"],
  "h": {"pos": [1, 2]},
  "t": {"pos": [3, 4]},
  "relation": "Component-Whole(e1,e2)",
}
REDOCRED = {
  "title": "Bo",
  "sents": [["The", "Danish", "Bo", "left", "the", "USA", "in", "1963", "."], ["Two", "won", "."]],
  "vertexSet": [
    [{"name": "Danish", "pos": [1, 2], "sent_id": 0, "type": "LOC"}],
    [{"name": "the USA", "pos": [4, 6], "sent_id": 0, "type": "LOC"}],
    [{"name": "1963", "pos": [7, 8], "sent_id": 0, "type": "TIME"}],
    [{"name": "Two", "pos": [0, 1], "sent_id": 1, "type": "NUM"}],
  ],
  "labels": [],
}
SQUAD = {"data": [{"title": str(n), "paragraphs": []} for n in range(48)]}


@pytest.fixture
def originals(tmp_path):
  folder = tmp_path / "originals"
  for name in (
    "wnut17",
    "uner_en_ewt",
    "fewrel",
    "semeval2010_task8",
    "squad",
    "redocred",
    *(f"crossner/{x}" for x in DOMAINS),
  ):
    (folder / name).mkdir(parents=True)
  for domain in DOMAINS:
    for split in ("train", "dev", "test"):
      sentence = CROSSNER.replace("used", f"{split}s")
      (folder / "crossner" / domain / f"{split}.txt").write_text(sentence + REPEATED + DANISH)
  for split, name in WNUT.items():
    (folder / "wnut17" / name).write_text(WNUT17.replace("hi", split))
  (folder / "uner_en_ewt" / "dev.iob2").write_text(UNER)
  (folder / "fewrel" / "val_wiki.json").write_text(json.dumps(FEWREL))
  (folder / "fewrel" / "pid2name.json").write_text('{"P25": ["mother", "female parent"]}')
  for split in ("train", "val", "test"):
    line = json.dumps(SEMEVAL | {"token": ["the", "arm", split, "Bo"]})
    (folder / "semeval2010_task8" / f"{split}.txt").write_text(line + "\n")
  (folder / "squad" / "dev-v1.1.json").write_text(json.dumps(SQUAD))
  (folder / "redocred" / "relations.tsv").write_text("P19\tplace of birth\n")
  for name in ("dev", "test_first250"):
    with gzip.open(folder / "redocred" / f"{name}.json.gz", "wt") as file:
      json.dump([REDOCRED], file)
  return folder


def test_every_set_is_read_by_its_task(originals, tmp_path):
  assert main(originals, tmp_path / "sets") == 0
  for task, name in (("ner", "test_crossner"), ("relations", "train"), ("typing", "test")):
    examples = task_class(task)().read(tmp_path / "sets" / task / f"{name}.jsonl", Faults())
    assert examples
  lines = (tmp_path / "sets/ner/test_crossner.jsonl").read_text().splitlines()
  assert json.loads(lines[0]) == {
    "text": "Marie Curie tests radium .",
    "spans": [[0, 11, "PER"]],  # an element is no name
  }
  (line,) = (tmp_path / "sets/relations/train.jsonl").read_text().splitlines()
  assert json.loads(line) == {
    "text": "Ana bore Bo",
    "head": [9, 11],
    "tail": [0, 3],
    "label": "mother",
  }
  (line,) = (tmp_path / "sets/semeval/dev.jsonl").read_text().splitlines()
  assert json.loads(line) == {
    "text": "the arm val Bo",
    "head": [4, 7],
    "tail": [12, 14],
    "label": "Component-Whole(e1,e2)",
  }
  sizes = [
    len(json.loads((tmp_path / f"sets/qa/{x}.json").read_text())["data"]) for x in ("train", "test")
  ]
  assert sizes == [40, 8]


def test_names_of_documents_follow_the_other_sets(originals, tmp_path):
  main(originals, tmp_path / "sets")
  lines = (tmp_path / "sets/ner/test_redocred.jsonl").read_text().splitlines()
  first, second = map(json.loads, lines)
  spans = {first["text"][start:end]: label for start, end, label in first["spans"]}
  assert spans == {"Danish": "MISC", "USA": "LOC", "1963": "TIME"}
  assert second["text"].startswith("Two") and second["spans"] == [[0, 3, "NUM"]]


def test_what_is_missing_is_named_and_the_rest_is_made(originals, tmp_path, capsys):
  (originals / "fewrel" / "val_wiki.json").unlink()
  assert main(originals, tmp_path / "sets") == 1
  assert "relations: left out, no " in capsys.readouterr().err
  assert (tmp_path / "sets/qa/test.json").exists() and not (tmp_path / "sets/relations").exists()


def test_columns_end_at_blank_lines_of_any_kind(tmp_path):
  file = tmp_path / "x.conll"
  file.write_text(WNUT17)
  first, second = read_columns(file)
  assert first.words == ["Bo", "at", "Acme"] and second.words == ["hi"]
  assert first.spans == [(0, 1, "person"), (2, 3, "corporation")] and second.spans == []


def test_types_have_plain_words():
  assert len(types()) == 39 and {name for name, _ in types().values()} == {
    "PER",
    "LOC",
    "ORG",
    "MISC",
    "",
  }


def test_no_test_sentence_is_trained_on(originals, tmp_path):
  main(originals, tmp_path / "sets")
  of_names = ("test_crossner", "test_wnut17", "test_redocred")
  for task, tests in (("ner", of_names), ("typing", ("test",))):
    texts = {
      path.stem: {json.loads(line)["text"] for line in path.read_text().splitlines()}
      for path in (tmp_path / "sets" / task).iterdir()
    }
    trained = set().union(*(x for name, x in texts.items() if not name.startswith("test")))
    assert trained and "Bo agrees" in texts[tests[0]]
    assert not any(trained & texts[name] for name in tests)


def test_the_cut_in_the_repository_is_of_test_and_training_parts():
  """Short enough to be kept, balanced, and without a sentence that is in both."""
  examples = {
    split: read(SAMPLE / f"relations/{split}.jsonl") for split in ("train", "dev", "test")
  }
  for split, count in RELATIONS.items():
    labels = Counter(example.label for example in examples[split])
    assert len(labels) == 16 and set(labels.values()) == {count}
  tested = {example.text for example in examples["test"]}
  assert not tested & {example.text for split in ("train", "dev") for example in examples[split]}
  assert len(task_class("ner")().read(SAMPLE / "ner/test.jsonl", Faults())) == SENTENCES


def read(path):
  return task_class("relations")().read(path, Faults())


def test_a_cut_takes_whole_sentences_with_names(tmp_path):
  lines = [
    json.dumps({"text": text, "spans": [[0, 1, "PER"]] * count})
    for text, count in (("A" * 80, 2), ("a" * 80, 2), ("A" * 80, 2), ("B" * 80, 1), ("C" * 9, 2))
  ]
  assert names(lines) == [lines[0]]
  labelled = [json.dumps({"label": label}) for label in "abab"]
  assert relations(labelled, 1) == labelled[:2]


def test_names_are_compared_without_the_and_without_other_kinds():
  text = "The Hague beat the Acme of Rome."
  gold = [{"text": text, "spans": [[0, 9, "LOC"], [19, 23, "ORG"], [27, 31, "LOC"]]}]
  found = [{"spans": [[4, 9, "LOC"], [15, 23, "ORG"], [27, 31, "PER"], [0, 3, "MISC"]]}]
  assert f1(gold, found) == pytest.approx(2 / 3)
  assert f1(gold, gold) == 1 and f1([], []) == 0


class _Names:
  """Finds the word Ana."""

  def predict(self, texts):
    found = [(text, text.find("Ana")) for text in texts]
    return [
      [Span("Ana", start, start + 3, "PER", 1.0)] if start >= 0 else [] for text, start in found
    ]


def test_questions_get_the_names_of_their_texts_as_masked_entities(tmp_path):
  passage = {
    "context": "Here Ana ate.",
    "qas": [
      {"id": "1", "question": "Ana did?", "answers": [{"text": "ate", "answer_start": 9}]},
      {"id": "2", "question": "Who ate?", "answers": [{"text": "Ana", "answer_start": 5}]},
    ],
  }
  squad = {"data": [{"title": "Meals", "paragraphs": [passage]}]}
  (tmp_path / "train.json").write_text(json.dumps(squad))
  assert write(_Names(), tmp_path / "train.json", tmp_path / "named.jsonl") == 2  # texts, each once
  first, second = task_class("qa")().read(tmp_path / "named.jsonl", Faults())
  assert first.entities == second.entities == ((5, 8, "[MASK]"),)
  assert (first.question_entities, second.question_entities) == (((0, 3, "[MASK]"),), ())
  assert (first.answers, first.title) == (((9, 12),), "Meals")


def test_sentences_are_joined_to_documents(tmp_path):
  texts, documents = tmp_path / "texts.jsonl", tmp_path / "documents.jsonl"
  lines = [{"text": f"{name} sings.", "spans": [[0, 3, "PER"]]} for name in ("Ana", "Ben", "Eve")]
  texts.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
  join(str(texts), str(documents), "2", "1")
  first, second = map(json.loads, documents.read_text(encoding="utf-8").splitlines())
  assert first["text"] == "Ana sings. Ben sings."
  assert first["sentences"] == [[0, 10], [11, 21]]
  assert [second["text"][start:end] for start, end, _ in second["spans"]] == ["Ben", "Eve"]
  assert len(text_of(30_000)) == 30_000


def written(path, objects):
  path.parent.mkdir(exist_ok=True)
  path.write_text("".join(json.dumps(x) + "\n" for x in objects), encoding="utf-8")


def read_lines(path):
  return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_labels_are_asked_for_in_words_and_misc_is_not(originals):
  found = {name: labels for name, _, labels in zero_shot.sets(originals, "test")}
  assert set(found) == {*DOMAINS, "wnut17"}
  assert "researcher" in found["ai"].values() and "misc" not in found["ai"]
  assert found["wnut17"]["creative-work"] == "creative work"


def test_descriptions_are_by_label(tmp_path):
  types = {"Q1": {"label": "River", "description": "a stream"}, "Q2": {"label": "x"}}
  entries = {name: {"description": "", **entry} for name, entry in types.items()}
  (tmp_path / "t.json.gz").write_bytes(gzip.compress(json.dumps(entries).encode()))
  described.main(str(tmp_path / "t.json.gz"), str(tmp_path / "d.json"))
  assert json.loads((tmp_path / "d.json").read_text()) == {"river": "a stream"}
