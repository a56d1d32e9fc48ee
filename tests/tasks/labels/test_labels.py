"""Labels that are given at run time: their wordings, rows to learn from, answers and scores."""

import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
import time
import types
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from marked_tasks import written
from sample_models import save_roberta

import luke_jax
from luke_jax import english
from luke_jax.cli import main
from luke_jax.convert.parts import READER
from luke_jax.convert.programs import read_program
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.formats.files import Faults
from luke_jax.inference import text_vectors
from luke_jax.inference.batches import outputs, shapes_of
from luke_jax.inference.predicting import asked
from luke_jax.inference.settings import processor_of, task_of
from luke_jax.models.keys import flatten
from luke_jax.nn.losses import IGNORED
from luke_jax.runs.models import calibrate
from luke_jax.runs.outline import outline
from luke_jax.runs.recipes import task_experiment
from luke_jax.runs.starts import start_directory, start_params
from luke_jax.tasks.calibration import Answered, calibration_error, fitted, low_threshold
from luke_jax.tasks.labels import score
from luke_jax.tasks.labels.features import IDS, LearningRoom, Lessons
from luke_jax.tasks.labels.files import Example, parse, read, to_json
from luke_jax.tasks.labels.task import LabelledNames
from luke_jax.tasks.labels.wordings import (
  NONE,
  TAGS,
  Wordings,
  in_words,
  keep_wordings,
  labels_in,
  open_wordings,
  warn_of_same,
  wordings_of,
)
from luke_jax.tasks.ner.task import ScoredSpan
from luke_jax.tasks.predictions import Span
from luke_jax.text import Row
from luke_jax.training.experiment import Experiment

ROOT = Path(__file__).parents[3]
TEXT = "Ana Sousa sailed the Arkessa to Castrel."
LINE = {"text": TEXT, "spans": [[0, 9, "poet", "person"], [21, 28, "ship"]], "unknown": [[32, 39]]}


def example(value=LINE):
  return parse(value, "1", "here")


@pytest.mark.parametrize(
  ("text", "labels"),
  [
    ("person, ship", ("person", "ship")),
    ("award: a prize, given for merit; ship", ("award: a prize, given for merit", "ship")),
    (" ship ,, ", ("ship",)),
    ("", ()),
  ],
)
def test_labels_are_set_apart_by_commas_or_else_by_semicolons(text, labels):
  assert labels_in(text) == labels


def test_a_comma_in_a_description_is_told():
  with pytest.warns(UserWarning, match="'for merit' is a label of its own; semicolons"):
    assert labels_in("ship, award: a prize, for merit") == ("ship", "award: a prize", "for merit")
  with warnings.catch_warnings():
    warnings.simplefilter("error")
    labels_in("ship, award: a prize, town: a place")
    labels_in("award: a prize, for merit;")


def test_labels_of_a_file_are_one_on_each_line(tmp_path):
  (tmp_path / "l.txt").write_text("award: a prize, given\nship\n\n")
  assert labels_in(str(tmp_path / "l.txt")) == ("award: a prize, given", "ship")
  with pytest.raises(InputError, match=r"--labels: no\.txt: no such file"):
    labels_in("no.txt")
  (tmp_path / "l.txt").write_bytes("ship\ncafé\n".encode("latin-1"))
  with pytest.raises(InputError, match="line 2: byte 0xe9 is not UTF-8; expected UTF-8, which"):
    labels_in(str(tmp_path / "l.txt"))


def test_a_label_has_a_name_and_what_is_read_of_it():
  assert wordings_of(["ship", "award: a prize", "PER=person"]) == {
    "PER": "person",
    "award": "award: a prize",
    "ship": "ship",
  }
  described = wordings_of({"award": "a prize", "ship": ""})
  assert described == {"award": "award: a prize", "ship": "ship"}


@pytest.mark.parametrize(
  ("label", "words"),
  [
    ("PER", "person"),
    ("WORK_OF_ART", "work of art"),
    ("politicalparty", "political party"),
    ("sportsteam: who play", "sports team: who play"),  # the longest word first: no sport steam
    ("BookTitle", "Book Title"),
    ("musical_artist", "musical artist"),
    ("songwriter", "songwriter"),  # which is a word
    ("artform", "artform"),  # art is too short
    ("political party", "political party"),
    ("creative-work", "creative-work"),
    ("_", "_"),
    ("", ""),
  ],
)
def test_labels_of_annotators_are_read_as_words(label, words):
  known = "political party sport sports steam team song writer songwriter art form"
  assert in_words(label, re.findall(r"\w+", known).__contains__) == words


@given(st.text(max_size=40))
def test_any_label_has_words(label):
  made = in_words(label, lambda text: len(text) % 2 == 0)
  assert bool(made.strip()) == bool(label.strip())
  (found, expected) = ("".join(x.replace("_", " ").split()) for x in (made, label))
  assert found == expected or label.partition(": ")[0] in TAGS


@pytest.mark.parametrize(
  ("labels", "fault"),
  [
    ([], "labels: none; expected some"),
    (["ship", "Ship "], "'Ship': twice"),
    (["a: b", "a"], "'a': twice"),
    ([" "], "expected a label of words"),
    ([3], "expected a label of words"),
    ("ship", "expected a list of labels"),
    ({"ship": {"sails": 3}}, "labels: ship: .*; expected a description of words"),
  ],
)
def test_labels_that_are_none_are_refused(labels, fault):
  with pytest.raises(InputError, match=fault):
    wordings_of(labels)


def test_labels_that_are_read_the_same_are_told():
  def warn(*labels):
    wordings = wordings_of(labels)
    words = {"political", "party", "person", "ship"}
    warn_of_same(wordings, {x: in_words(x, words.__contains__) for x in wordings.values()})

  warn("PER", "ship", "politicalparty")
  for labels, said in (
    (("y=person", "a=person", "ship"), "'y' is read as 'a' is, 'person': names get the latter"),
    (("person", "PER"), "'person' is read as 'PER' is, 'person'"),
    (("politicalparty", "political party"), "'politicalparty' is read as 'political party' is"),
  ):
    with pytest.warns(UserWarning, match=said):
      warn(*labels)


@given(st.permutations(["ship", "person", "award: a prize", "X=town"]))
def test_the_order_of_labels_changes_nothing(labels):
  assert list(wordings_of(labels).items()) == sorted(wordings_of(labels).items())


def test_a_span_may_have_several_labels():
  read = example()
  assert read.labels == (("poet", "person"), ("ship",)) and read.unknown == ((32, 39),)
  written = to_json(read)
  assert (written["spans"], written["unknown"]) == (LINE["spans"], LINE["unknown"])
  assert parse(written, "1", "here") == read


@pytest.mark.parametrize(
  ("field", "value", "fault"),
  [
    ("spans", [[0, 9, "poet", 3]], "3; expected labels of words"),
    ("spans", [[0, 9]], r"\[0, 9\]; expected \[start, end, label\]"),
    ("unknown", [[9, 0]], r"unknown: \[9, 0\]; expected \[start, end\]"),
    ("unknown", 3, "unknown"),
    ("unknwon", [], "no such field"),
  ],
)
def test_a_faulty_line_is_told(field, value, fault):
  with pytest.raises(InputError, match=fault):
    example(LINE | {field: value})


def test_files_of_named_entities_are_read_too(tmp_path):
  (tmp_path / "a.conll").write_text("Ana B-poet\nsailed O\n\n")
  (found,) = read(Path(tmp_path / "a.conll"), Faults())
  assert found.labels == (("poet",),) and found.unknown == ()


def some_row(document: Example, spans) -> Row:
  places = np.array(spans, np.int32)
  return Row(0, np.arange(9, dtype=np.int32), np.zeros(len(spans), np.int32), places, None, places)


WORDS = [(0, 2), (0, 1), (2, 3), (4, 5), (3, 5), (6, 7), (2, 4)]  # of TEXT


def lessons(table=None):
  others = [
    example({"text": "Bo sailed", "spans": [[0, 2, "sailor", "person"]]}),
    example({"text": "Bo", "spans": [[0, 2, "person"]]}),
    example({"text": "Bo", "spans": [[0, 2, "town"]]}),
  ]
  return Lessons([example(), *others], table, {})


def test_a_row_has_names_and_other_spans_but_none_that_may_be_a_name():
  made = lessons().row(some_row(example(), WORDS), example(), LearningRoom(8, 8))
  kept = set(map(tuple, made.source.tolist()))
  assert {(0, 2), (4, 5)} < kept and (6, 7) not in kept
  labels = [lessons().labels[x] for x in range(5)]
  targets = dict(zip(map(tuple, made.source.tolist()), made.labels.tolist(), strict=True))
  of_ana = dict(zip(labels, targets[0, 2], strict=True))
  assert of_ana == {"person": 1, "poet": 1, "sailor": 0, "ship": 0, "town": 0}
  assert not any(targets[0, 1])  # a part of a name has no label


def test_a_kind_of_all_that_a_name_is_said_to_be_is_neither_right_nor_wrong():
  made = lessons()
  numbers = np.arange(len(made.labels))
  targets = dict(zip(made.labels, made._targets(("person",), numbers).tolist(), strict=True))
  assert targets == {"person": 1, "poet": IGNORED, "sailor": IGNORED, "ship": 0, "town": 0}


def test_labels_that_mean_nearly_the_same_say_nothing_against_each_other():
  made = lessons()
  vectors = np.eye(5, dtype=np.float32)
  vectors[made.numbers["town"]] = vectors[made.numbers["ship"]]
  made = lessons(Wordings(made.labels, vectors))
  targets = dict(zip(made.labels, made._targets(("ship",), np.arange(5)).tolist(), strict=True))
  assert targets["town"] == IGNORED and targets["poet"] == 0


def test_a_label_is_read_with_its_description_at_times():
  table = Wordings(["person", "poet", "sailor", "ship", "town", "ship: a vessel"], np.eye(6))
  made = Lessons([example()], table, {"ship": "a vessel"})
  rows = [
    made.row(some_row(example(), WORDS[i:] + WORDS[:i]), example(), LearningRoom(8, 8))
    for i in range(7)
  ]
  read = {int(x) for row in rows for x in row.extra[IDS]}
  assert {3, 5} <= read and NONE not in read


def test_tables_in_memory_are_found_by_name():
  name = keep_wordings(["a"], np.ones((1, 2), np.float32), "model")
  assert open_wordings(name).texts == ("a",)
  assert np.array_equal(open_wordings(name).vectors(np.array([0, NONE])), [[1, 1], [0, 0]])


LABELS = ("person", "poet", "ship")


def decoded(logits, usual, **settings):
  """What is answered for two overlapping spans and another, by logits of three labels."""
  spans = [(0, 2), (0, 1), (4, 5)]
  task = LabelledNames(labels=LABELS, **settings)
  outputs = {"logits": [np.array(logits)], "label_logits": [np.array(usual)]}
  (found,) = task.decode([example()], [some_row(example(), spans)], outputs)
  return [(x.text, x.label) for x in found]


def test_the_label_that_says_most_is_the_answer():
  logits = [[4, 3, -9], [2, 2, -9], [-9, -9, 1]]
  assert decoded(logits, [0, 0, 0]) == [("Ana Sousa", "person"), ("Arkessa", "ship")]
  assert decoded(logits, [2, -1, 0]) == [("Ana Sousa", "poet"), ("Arkessa", "ship")]
  assert decoded([[4, -2, -9], *logits[1:]], [9, -9, 0])[0] == ("Ana Sousa", "person")


def test_a_threshold_and_a_calibration_decide_what_is_answered():
  logits = [[4, 3, -9], [2, 2, -9], [-9, -9, 1]]
  assert decoded(logits, [0, 0, 0], threshold=0.9) == [("Ana Sousa", "person")]
  assert decoded(logits, [0, 0, 0], offset=-3.0) == [("Ana Sousa", "person")]
  with pytest.raises(InputError, match=r"threshold: 1\.5; expected a number from 0 to 1"):
    LabelledNames(threshold=1.5)


def test_a_name_is_right_with_any_of_its_labels_and_unknown_names_count_nowhere():
  spans = [
    Span("Ana Sousa", 0, 9, "person", 0.9),
    Span("Arkessa", 21, 28, "poet", 0.8),
    Span("Castrel", 32, 39, "ship", 0.7),
  ]
  scores = score.evaluate([example()], [spans], ["person", "ship", "poet"]).scores
  assert (scores["precision"], scores["recall"]) == (0.5, 0.5)
  only = score.evaluate([example()], [spans[:1]], ["person"]).scores
  assert only["f1"] == 1.0  # a ship is no gold where none was asked for


def test_a_name_that_is_found_may_have_the_wrong_label():
  spans = [
    Span("Ana Sousa", 0, 9, "ship", 0.9),
    Span("sailed", 10, 16, "ship", 0.8),
    Span("Castrel", 32, 39, "ship", 0.7),
  ]
  assert score.found([example()], [spans], ["ship", "poet"]) == (
    [Answered(0.9, True), Answered(0.8, False)],
    2,
  )
  assert score.found([example()], [spans[:1]], ["ship"]) == ([Answered(0.9, False)], 1)


def test_a_fit_makes_scores_the_shares_of_right_answers():
  rng = np.random.default_rng(0)
  logits = rng.normal(size=4000) * 3
  right = rng.random(4000) < 1 / (1 + np.exp(-(0.5 * logits - 1)))
  answers = [Answered(1 / (1 + np.exp(-x)), bool(y)) for x, y in zip(logits, right, strict=True)]
  slope, offset = fitted(answers)
  assert slope == pytest.approx(0.5, abs=0.06) and offset == pytest.approx(-1, abs=0.15)
  better = [
    Answered(1 / (1 + np.exp(-(slope * x + offset))), a.right)
    for x, a in zip(logits, answers, strict=True)
  ]
  assert calibration_error(better) < 0.03 < calibration_error(answers)
  assert fitted(answers[:5]) == (1.0, 0.0)


def test_the_threshold_is_a_low_one_of_nearly_the_best_f1():
  answers = [Answered(0.9, True), Answered(0.8, True), Answered(0.7, False), Answered(0.6, True)]
  assert low_threshold(answers[:3], 2) == 0.8
  assert low_threshold(answers, 9) == 0.6
  many = [Answered(0.9, True)] * 100 + [Answered(0.5, False)] * 2
  assert low_threshold(many, 100) == 0.5  # F1 of 0.990 for 1
  assert low_threshold([*many, Answered(0.4, False)], 100) == 0.5
  assert low_threshold([], 9) == 0.5
  assert low_threshold(many, 100, 0.0) == 0.9  # of few kinds, which texts like dev ask for


SENTENCES = [
  {"text": f"{name} {verb} the {ship} to Castrel.", "spans": spans(name, verb, ship)}
  for name in ("Ana Sousa", "Bo Ferrier", "Marta Oduya")
  for verb in ("sailed", "steered", "sank")
  for ship in ("Arkessa", "Nordvik")
  for spans in [
    lambda name, verb, ship: [
      [0, len(name), "sailor", "person"],
      [len(name) + len(verb) + 6, len(name) + len(verb) + 6 + len(ship), "ship"],
    ]
  ]
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
  """A model that learnt a little, and the folder of its run."""
  folder = tmp_path_factory.mktemp("labels")
  start = save_roberta(folder / "start")
  made = luke_jax.fine_tune(
    "labels",
    start,
    train=SENTENCES,
    dev=SENTENCES[:6],
    folder=folder / "made",
    epochs=12,
    learning_rate=1e-2,
    lengths=1,
    adapter=2,
  )
  return made.model, folder


def test_labels_are_asked_for_at_run_time(trained):
  model, _ = trained
  text = "Bo Ferrier sank the Arkessa to Castrel."
  labels = ["ship", "sailor", "award: a prize given for merit"]
  found = model.predict(text, labels=labels, threshold=0.0)
  assert {x.label for x in found} <= {"ship", "sailor", "award"} and found
  assert found == model.predict(text, labels=labels[::-1], threshold=0.0)
  assert found == model.predict([text], labels=labels, threshold=0.0)[0]
  described = {"ship": "", "sailor": "", "award": "a prize given for merit"}
  assert found == model.predict(text, labels=described, threshold=0.0)
  assert model.predict("", labels=labels) == model.predict([" ", ""], labels=labels)[0] == []


def test_given_names_have_labels_by_the_same_scores(trained):
  model, _ = trained
  asked = {"labels": ["ship", "sailor"], "threshold": 0.0}
  found = model.predict(TEXT, **asked)
  given = [[x.start, x.end] for x in found]
  assert model.predict(TEXT, mentions=given, **asked) == found and found
  inside = [[*given[0]], [given[0][0] + 1, given[0][1]]]
  whole, part = model.predict(TEXT, mentions=inside, **asked)
  assert part.text == whole.text[1:] and part[3:] == whole[3:]  # read as the words that it is in
  assert model.predict([TEXT], mentions=[[]], **asked) == [[]]
  sure = whole.score + 1e-6
  assert model.predict(TEXT, mentions=given[:1], **asked | {"threshold": sure}) == []
  for mentions, fault in (
    ([[9, 10]], r"mentions: \[9, 10\]: no word"),
    ([[9, 99]], "mentions: .*; expected 0 <= start"),
    ([[0, 9, "ship"]], r"mentions: .*; expected \[start, end\]"),
  ):
    with pytest.raises(InputError, match=fault):
      model.predict(TEXT, mentions=mentions, **asked)
  with pytest.raises(InputError, match="words; expected what is read at once"):
    model.predict(TEXT * 30, mentions=[[0, len(TEXT) * 30]], **asked)


def test_mentions_of_words_are_read_and_written():
  value = {"tokens": ["Ana", "sailed"], "sentences": [[0, 2]], "mentions": [[0, 1], [0, 1]]}
  read = parse(value, "1", "here")
  assert read.mentions == ((read.words[0]),)
  assert to_json(read)["mentions"] == [[0, 1]]
  assert parse(to_json(read), "1", "here") == read


def test_the_labels_asked_for_last_are_not_read_again(trained, monkeypatch):
  model, _ = trained
  reader = text_vectors.reader_of(model.reader)
  labels = [["ship", f"sailor {i}"] for i in range(text_vectors.LISTS + 1)]
  first = model.predict(TEXT, labels=labels[0], threshold=0.0)
  monkeypatch.setattr(reader, "vectors", None)
  assert model.predict(TEXT, labels=labels[0], threshold=0.0) == first
  monkeypatch.undo()
  for some in labels:
    model.predict(TEXT, labels=some)
  assert len(reader._asked) == text_vectors.LISTS
  assert model.predict(TEXT, labels=labels[0], threshold=0.0) == first


@pytest.mark.parametrize(
  ("settings", "fault"),
  [
    ({"labels": []}, "labels: none; expected some"),
    ({"labels": ["ship"], "threshold": 2.0}, "threshold: 2.0; expected a number from 0 to 1"),
    ({"labels": ["ship " * 500]}, "ship.*: more than 62 word pieces; expected a shorter label"),
  ],
)
def test_what_cannot_be_asked_for_is_told(trained, settings, fault):
  with pytest.raises(InputError, match=fault):
    trained[0].predict(TEXT, **settings)


class Words:
  """A processor that knows ships and persons."""

  tokenizer = types.SimpleNamespace(special=types.SimpleNamespace(unknown=0))

  def encode(self, inputs, truncation=False):
    known = {"ship": 7, "person": 8}
    rows = [[known.get(word, 0) for word in x.text.split()] for x in inputs]
    return [types.SimpleNamespace(input_ids=np.array([1, *row, 2])) for row in rows]


def test_labels_of_words_that_the_model_does_not_know(monkeypatch):
  monkeypatch.setattr(text_vectors, "any_processor", lambda _: Words())
  monkeypatch.setattr(text_vectors, "encode", lambda _, texts, **__: np.ones((len(texts), 2)))
  reader = text_vectors.LabelReader(None)
  assert reader.vectors(["ship person", "ship"], known=True).shape == (2, 2)
  assert reader.vectors(["ship 船"]).shape == (1, 2)  # as a file may say it
  with pytest.raises(InputError, match="labels: 'ship 船': not known to the model: 船"):
    reader.vectors(["ship", "ship 船"], known=True)  # whatever was read before
  with pytest.raises(InputError, match="labels: 'person 船 舶': not known to the model: 船, 舶;"):
    reader.vectors(["person 船 舶"], known=True)
  with pytest.raises(InputError, match="no word that the model knows"):
    reader.vectors(["船"])


def test_kinds_that_a_model_learnt_are_the_usual_ones(trained):
  model, _ = trained
  kinds = sorted({label for x in SENTENCES for _, _, *of in x["spans"] for label in of})
  assert settings_of(model)["kinds"] == kinds
  found = model.predict(TEXT, threshold=0.0)
  assert found == model.predict(TEXT, labels=kinds, threshold=0.0) and found
  ours = {**model.rest["luke_jax"], "settings": {**settings_of(model), "kinds": []}}
  of_many = dataclasses.replace(model, rest={**model.rest, "luke_jax": ours})
  with pytest.raises(InputError, match="labels: none; expected those to look for"):
    of_many.predict(TEXT)


def logits_of(model, labels):
  """The logits of all spans of a text, by label."""
  task = task_of(model, **asked(model, labels))
  processor = processor_of(model, task)
  rows = task.features(processor, [task.parse({"text": TEXT}, "1", "here")])
  (found,) = outputs(model, task, rows, processor.entity_vocab.pad_id, shapes_of(model.backbone))[
    "logits"
  ]
  return dict(zip(task.labels, found[: len(rows[0].source)].T, strict=False))


def test_a_label_alone_scores_as_among_a_thousand(trained):
  model, _ = trained
  among = logits_of(model, [f"ship {i}" for i in range(1000)])
  assert len(among) == 1000 and np.ptp(among["ship 7"]) > 0
  alone = logits_of(model, ["ship 7"])["ship 7"]
  np.testing.assert_allclose(alone, among["ship 7"], atol=1e-4)
  assert not np.allclose(alone, among["ship 8"], atol=1e-4)


def test_a_whole_model_has_what_reads_its_labels_beside(trained, tmp_path):
  model, _ = trained
  model.save(tmp_path / "whole")
  whole = luke_jax.load(tmp_path / "whole")
  labels = ["ship", "sailor"]
  assert whole.start is None and whole.reader == tmp_path / "whole" / READER
  found, expected = (x.predict(TEXT, labels=labels, threshold=0.0) for x in (whole, model))
  assert [x.label for x in found] == [x.label for x in expected] and found
  np.testing.assert_allclose([x.score for x in found], [x.score for x in expected], atol=1e-5)
  whole.save(tmp_path / "again")
  shutil.rmtree(tmp_path / "again" / READER)
  alone = luke_jax.load(tmp_path / "again")
  with pytest.raises(InputError, match="the model is without the one that reads them"):
    alone.predict(TEXT, labels=labels)
  with pytest.raises(InputError, match="without the one that reads its labels; expected both"):
    alone.save(tmp_path / "more")
  assert not (tmp_path / "more").exists()


def test_a_program_beside_a_model_is_asked_for_labels(trained, tmp_path, capsys):
  _, folder = trained
  line = ["export-program", str(folder / "made" / "run"), "--output", str(tmp_path / "served")]
  assert main([*line, "--backbone", str(folder / "start")]) == 0
  assert capsys.readouterr().out.count("it computes what the model does in two shapes") == 2
  whole = luke_jax.load(tmp_path / "served")
  by_program = dataclasses.replace(whole, program=read_program(tmp_path / "served"))
  asked_for = {"labels": ["ship", "sailor", "town"], "threshold": 0.0}
  texts = [TEXT, "Bo Ferrier sank it."]
  found, expected = (x.predict(texts, **asked_for) for x in (by_program, whole))
  assert [[x.label for x in of] for of in found] == [[x.label for x in of] for of in expected]


def test_the_page_finds_kinds_without_jax(trained, tmp_path):
  pytest.importorskip("onnxruntime")
  _, folder = trained
  line = ["export-program", str(folder / "made" / "run"), "--output", str(tmp_path / "served")]
  assert main([*line, "--backbone", str(folder / "start"), "--onnx"]) == 0
  config = tmp_path / "served" / "config.json"
  content = json.loads(config.read_text())
  content["luke_jax"]["settings"]["threshold"] = 0.0
  config.write_text(json.dumps(content))
  page = (ROOT / "docs/howto/onnx.md").read_text(encoding="utf-8")
  (code,) = re.findall(r"```python find_kinds.py\n(.*?)```", page, re.DOTALL)
  code += "import sys\nassert not {'jax', 'flax'} & sys.modules.keys()\n"
  code += "print(json.dumps([[a, b, kind, float(x)] for a, b, kind, x in sorted(names)]))\n"
  environment = os.environ | {"PYTHONPATH": str(ROOT)}
  done = subprocess.run(
    [sys.executable, "-c", code], cwd=tmp_path, env=environment, check=True, stdout=subprocess.PIPE
  )
  found = json.loads(done.stdout.splitlines()[-1])
  kinds = {"award": "a prize given for merit", "novel": "", "person": ""}
  text = re.search(r'^TEXT = "(.*)"$', code, re.MULTILINE)[1]
  expected = luke_jax.load(tmp_path / "served").predict(text, labels=kinds)
  assert [x[:3] for x in found] == [[x.start, x.end, x.label] for x in expected] and found
  np.testing.assert_allclose([x[3] for x in found], [x.score for x in expected], atol=1e-5)


def test_a_run_keeps_an_adapter_which_commands_read(trained, tmp_path, capsys):
  model, folder = trained
  run = folder / "made" / "run"
  assert (run / "adapter").is_dir() and not (run / "model").exists()
  line = ["predict", "labels", str(run), TEXT, "--backbone", str(folder / "start")]
  assert main([*line, "--labels", "ship, sailor", "--threshold", "0"]) == 0
  found = json.loads(capsys.readouterr().out)
  expected = model.predict(TEXT, labels=["ship", "sailor"], threshold=0.0)
  assert found["texts"] == [x.text for x in expected]
  assert main([*line, "--threshold", "0"]) == 0  # of the kinds that it learnt
  assert json.loads(capsys.readouterr().out)["texts"] == [
    x.text for x in model.predict(TEXT, threshold=0.0)
  ]
  file = tmp_path / "gold.jsonl"
  file.write_text("".join(json.dumps(x) + "\n" for x in SENTENCES[:4]))
  scored = ["evaluate", "labels", str(run), str(file), "--backbone", str(folder / "start")]
  assert main([*scored, "--recall", "0.5"]) == 0
  told, scores = capsys.readouterr().out.splitlines()[-2:]
  found = json.loads(scores)
  assert found["examples"] == 4 and "what there is" in told
  assert main([*scored, "--recall", "0.5", "--precision", "0.5"]) == 2
  assert "--recall: beside --precision" in capsys.readouterr().err


def test_a_run_keeps_what_its_scores_mean(trained):
  model, folder = trained
  kept = json.loads((folder / "made" / "run" / "calibration.json").read_text())
  settings = model.rest["luke_jax"]["settings"]
  assert {name: settings[name] for name in kept} == kept and "table" not in settings


def test_without_dev_a_run_keeps_the_kinds_alone(trained, tmp_path):
  model, folder = trained
  file = tmp_path / "train.jsonl"
  file.write_text("".join(json.dumps(x) + "\n" for x in SENTENCES))
  task = LabelledNames(train=str(file), text=str(folder / "start"))
  experiment = Experiment(model=model.config, task=task)
  assert calibrate(model, experiment, Path(tmp_path))
  kept = json.loads((tmp_path / "calibration.json").read_text())
  assert kept == {"kinds": settings_of(model)["kinds"]}


def test_scores_are_fitted_to_other_texts_and_answers_stay(trained, tmp_path, capsys):
  model, _ = trained
  file, copy = tmp_path / "gold.jsonl", str(tmp_path / "model")
  file.write_text("".join(json.dumps(x) + "\n" for x in SENTENCES * 4))
  model.save(copy)
  asked = ["ship", "sailor", "person", "poet"]
  before, threshold = model.predict(TEXT, labels=asked), settings_of(model)["threshold"]
  fit = ["calibrate", "labels", copy, str(file)]
  for _ in range(2):  # the second time not to what was fitted
    assert main([*fit, "--labels", "ship=sailor, person=poet"]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found["after"] <= found["before"] and found["answers"] >= 100
    again = luke_jax.load(copy)
    kept = settings_of(again)
    assert (found["slope"], found["offset"]) == pytest.approx(
      (kept["slope"], kept["offset"]), rel=1e-4
    )
    assert kept["threshold"] != threshold
    after = again.predict(TEXT, labels=asked)
    assert [x[:4] for x in after] == [x[:4] for x in before]


def settings_of(model):
  return model.rest["luke_jax"]["settings"]


@pytest.mark.slow
def test_a_training_goes_on_from_an_adapter(trained, tmp_path):
  _, folder = trained
  run = folder / "made" / "run"
  settings = {"train": SENTENCES, "dev": SENTENCES[:6], "epochs": 0.5, "lengths": 1}
  again = luke_jax.fine_tune("labels", run, **settings, learning_rate=1e-9)
  before = luke_jax.load(run / "adapter", backbone=folder / "start")
  for labels in (["ship"], ["ship", "sailor"]):
    found, expected = logits_of(again.model, labels), logits_of(before, labels)
    for label in labels:
      np.testing.assert_allclose(found[label], expected[label], atol=1e-5)
  assert again.model.start.directory == folder / "start"
  with pytest.raises(InputError, match=r"optimizer\.adapter: 3; expected 2 as .*adapter has, or 0"):
    luke_jax.fine_tune("labels", run, **settings, adapter=3)


def test_names_with_tags_start_from_the_encoder_of_an_adapter(trained, tmp_path):
  _, folder = trained
  run = folder / "made" / "run"
  lines = [{**x, "spans": [span[:3] for span in x["spans"]]} for x in SENTENCES]
  file = written(tmp_path / "train.jsonl", lines)
  chosen = task_experiment("ner", (file, file), run, ["task.fit_head=false"])
  assert chosen.optimizer.adapter == 0 and chosen.task.text == str(folder / "start")
  made = start_params(start_directory(chosen.run.start), chosen)
  before = luke_jax.load(run / "adapter", backbone=folder / "start").merged
  name = before.config.name
  assert made.keys() == {name, "classifier", "crf"}
  for path, x in flatten(made[name]).items():
    np.testing.assert_allclose(x, flatten(before.params[name])[path], atol=1e-6, err_msg=path)


def test_names_of_the_model_english_start_from_the_labels_of_the_box(
  trained, tmp_path, monkeypatch
):
  adapter = trained[1] / "made" / "run" / "adapter"
  monkeypatch.setattr(english, "directory", lambda *task: {("labels", "english"): adapter}[task])
  lines = [{**x, "spans": [span[:3] for span in x["spans"]]} for x in SENTENCES]
  file = written(tmp_path / "train.jsonl", lines)
  chosen = task_experiment("ner", (file, file), Path("english"), [])
  assert chosen.run.start == str(adapter) and chosen.task.fit_head
  assert f"start     {adapter}; --set run.start=start for start alone" in outline(chosen)


def test_an_adapter_without_its_run_or_a_known_backbone_is_told(trained, tmp_path):
  alone = tmp_path / "alone"
  shutil.copytree(trained[1] / "made" / "run" / "adapter", alone)
  with pytest.raises(InputError, match="in the folder of its run, or what `luke-jax convert"):
    luke_jax.fine_tune("labels", alone, train=SENTENCES)


def test_all_parameters_cannot_be_trained(trained, tmp_path):
  with pytest.raises(InputError, match=r"optimizer\.adapter: 0; expected a rank"):
    luke_jax.fine_tune("labels", trained[1] / "start", train=SENTENCES, adapter=0)


def test_models_of_other_tasks_have_labels_of_their_own():
  model = luke_jax.load("data/sample_model")
  with pytest.raises(InputError, match="has its own; expected none"):
    model.predict(TEXT, labels=["ship"])


def test_files_of_columns_are_read_as_told(tmp_path):
  (tmp_path / "a.iob2").write_text("# id = 1\n1\tAna\tB-PER\t-\n2\tleft\tO\t-\n")
  task = LabelledNames(columns=("_", "word", "tag", "_"))
  (example,) = task.read(Path(tmp_path / "a.iob2"), Faults())
  assert example.labels == (("PER",),) and example.text.split() == ["Ana", "left"]
  with pytest.raises(InputError, match="columns"):
    LabelledNames(columns=("tag",))


def one_after_the_other(spans, *, nested, several):
  """Those that stand, as the words of the rule say."""
  kept = []
  for one in sorted(spans, key=lambda x: -x.logit):
    a, b = one.start, one.end
    for other in kept:
      c, d = other.start, other.end
      inside = (a <= c and d <= b) or (c <= a and b <= d)
      if (a, b) == (c, d):
        if not several:
          break
      elif a < d and c < b and not (nested and inside):
        break
    else:
      kept.append(one)
  return sorted((x.start, x.end, x.label) for x in kept)


@given(
  st.lists(st.tuples(st.integers(0, 8), st.integers(1, 4), st.integers(0, 2)), unique=True),
  st.booleans(),
  st.booleans(),
)
def test_nested_names_and_several_labels(places, nested, several):
  words = 12
  spans = [
    ScoredSpan(-float(i), a, a + length, label, 0.5) for i, (a, length, label) in enumerate(places)
  ]
  text = " ".join("w" * words)
  example = parse({"text": text}, "1", "here")
  task = LabelledNames(labels=("a", "b", "c"), nested=nested, several=several)
  found = task._apart(example, spans)
  if nested or several:
    expected = one_after_the_other(spans, nested=nested, several=several)
    assert sorted((x.start // 2, (x.end + 1) // 2, "abc".index(x.label)) for x in found) == expected


def test_many_nested_names_take_time_by_their_number():
  times = []
  for words in (2_000, 8_000):
    example = parse({"text": " ".join("w" * words)}, "1", "here")
    spans = [ScoredSpan(0.0, x, x + n, 0, 0.5) for x in range(words - 4) for n in (1, 2, 3)]
    start = time.process_time()
    LabelledNames(labels=("a",), nested=True, several=True)._apart(example, spans)
    times.append(time.process_time() - start)
  assert times[1] < 12 * times[0] + 0.1
