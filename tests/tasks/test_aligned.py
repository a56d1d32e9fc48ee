"""Typing and relations by an ERNIE of Tsinghua, which reads vectors of the entities of a text."""

import dataclasses
import json
import warnings

import jax
import numpy as np
import pytest
from networks import backbone
from small_systems import small

import luke_jax
import luke_jax.show
from luke_jax.cli import main
from luke_jax.convert.parts import ModelParts
from luke_jax.convert.saving import save
from luke_jax.errors import InputError
from luke_jax.formats.files import Faults
from luke_jax.models.network import Network, abstract_params
from luke_jax.systems.bert import BertConfig
from luke_jax.systems.ernie_thu import ErnieThuConfig
from luke_jax.systems.ernie_thu.aligning import aligned_inputs
from luke_jax.tasks.relations.task import RelationClassification
from luke_jax.tasks.running import processor_for
from luke_jax.tasks.typing.task import EntityTyping
from luke_jax.text import load_tokenizer

pytestmark = pytest.mark.usefixtures("one_device")

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "#", "$", "。", "."]
PIECES += ["jim", "henson", "was", "a", "puppet", "##eer", "saw", "it", "him", "she"]
TEXT, HEAD, TAIL = "Jim Henson was a puppeteer.", (0, 10), (17, 26)
WIDTH = 12


@pytest.fixture(scope="module")
def place(tmp_path_factory):
  """A vocabulary, vectors of eight entities, and an ERNIE and a BERT of random parameters."""
  place = tmp_path_factory.mktemp("aligned")
  (place / "words").mkdir()
  (place / "words" / "vocab.txt").write_text("\n".join(PIECES) + "\n", encoding="utf-8")
  (place / "kg").mkdir()
  (place / "kg" / "entity2id.txt").write_text("8\n" + "".join(f"Q{i}\t{i}\n" for i in range(8)))
  vectors = np.random.default_rng(0).normal(size=(8, WIDTH))
  np.savetxt(place / "kg" / "entity2vec.vec", vectors, fmt="%.6f", delimiter="\t")
  tokenizer = load_tokenizer(place / "words")
  rng = np.random.default_rng(1)
  for system in (ErnieThuConfig, BertConfig):
    sizes = {"vocab_size": tokenizer.vocab_size, "max_position_embeddings": 32}
    still = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    config = small(system, pad_token_id=0, **sizes, **still)
    made = Network(backbone(config))
    params = jax.tree_util.tree_map_with_path(
      lambda path, x: (
        np.ones(x.shape, np.float32)
        if path[-1].key == "scale"
        else 0.2 * rng.normal(size=x.shape).astype(np.float32)
      ),
      abstract_params(made),
    )
    save(ModelParts(made, params, tokenizer=tokenizer), place / system.name)
  return place


def rows(task, place, example):
  chosen = backbone(small(ErnieThuConfig, vocab_size=len(PIECES), pad_token_id=0))
  task = dataclasses.replace(task, text=str(place / "words"), vectors=str(place / "kg"))
  parsed = task.parse(example, "1", "text")
  made = task.features(processor_for(task, chosen), [parsed], Faults())
  arrays = task.engine().rows(chosen, made, [np.random.default_rng(0)])
  shapes = task.engine().row_shapes(chosen)
  assert {name: (x.shape[1:], x.dtype) for name, x in arrays.items()} == {
    name: (x.shape, x.dtype) for name, x in shapes.items()
  }
  return {name: x[0] for name, x in arrays.items()}


def words(arrays):
  return [PIECES[id] for id in arrays["input_ids"][: arrays["attention_mask"].sum()]]


def test_relations_have_their_own_markers_and_entities_beside_the_first_pieces(place):
  task = RelationClassification(labels=("x",), words=16)
  links = [["Q3", *HEAD], ["Q5", *TAIL, 0.9]]
  arrays = rows(task, place, {"text": TEXT, "head": HEAD, "tail": TAIL, "links": links})
  marked = "[CLS] # jim henson # was a $ puppet ##eer $ . [SEP]"
  assert words(arrays) == marked.split()
  assert np.flatnonzero(arrays["entity_mask"]).tolist() == [2, 8]
  table = np.loadtxt(place / "kg" / "entity2vec.vec", dtype=np.float32)
  np.testing.assert_array_equal(arrays["entity_vectors"][[2, 8]], table[[3, 5]])
  assert not arrays["entity_vectors"][[0, 1, 3]].any()


def test_the_tail_may_come_first(place):
  task = RelationClassification(labels=("x",), words=16)
  arrays = rows(task, place, {"text": TEXT, "head": TAIL, "tail": HEAD})
  assert words(arrays) == [
    "[CLS]",
    "$",
    "jim",
    "henson",
    "$",
    "was",
    "a",
    "#",
    "puppet",
    "##eer",
    "#",
    ".",
    "[SEP]",
  ]


def test_typing_keeps_links_above_the_threshold_and_reports_unknown_entities(place):
  task = EntityTyping(labels=("x",), words=16, link_threshold=0.3, alignment="all")
  links = [["Q1", *HEAD, 0.2], ["Q2", *TAIL, 0.4]]
  arrays = rows(task, place, {"text": TEXT, "span": HEAD, "links": links})
  assert words(arrays) == [
    "[CLS]",
    "。",
    "jim",
    "henson",
    "。",
    "was",
    "a",
    "puppet",
    "##eer",
    ".",
    "[SEP]",
  ]
  assert np.flatnonzero(arrays["entity_mask"]).tolist() == [7, 8]
  links[1][0] = "Q99"
  with pytest.warns(
    UserWarning, match="no vectors of 1 of 2 linked entities, such as Q99; they are"
  ):
    arrays = rows(task, place, {"text": TEXT, "span": HEAD, "links": links})
  assert not arrays["entity_mask"].any()


def example(i):
  """A text that says nothing; the kind of its entity is whether its number is even."""
  text = ("she saw him.", "it saw him.")[i // 8 % 2]
  him = text.index("him")
  return {"text": text, "span": [0, him - 5], "links": [[f"Q{i % 8}", him, him + 3]]}


@pytest.mark.slow
def test_an_entity_that_only_its_vector_tells_is_learned_saved_and_predicted(place, tmp_path):
  train = [example(i) | {"labels": [("odd", "even")[i % 2 == 0]]} for i in range(32)]
  fields = {"learning_rate": 3e-3, "epochs": 40, "batch_size": 16, "evaluate_every": 80}
  start = place / "ernie_thu"
  with_vectors = {"vectors": str(place / "kg"), **fields}
  found = luke_jax.fine_tune("typing", start, train=train, dev=train, **with_vectors)
  assert found.scores["f1"] == 1.0
  assert found.model.architecture == "ErnieThuForEntityClassification"
  assert found.model.config.vocab_size == len(PIECES)  # the markers are words of the vocabulary
  assert "bias" not in found.model.params["classifier"]
  found.model.save(tmp_path / "model")
  model = luke_jax.load(tmp_path / "model")
  text, span = "she saw him.", (0, 3)
  for number in (4, 5):
    (kind,) = model.predict(text, span=span, links=[[f"Q{number}", 8, 11]])
    assert kind.label == ("odd", "even")[number % 2 == 0]
    found = [(f"Q{number}", 8, 11, 0.8)]
    linked = model.predict([text], span=[span], link=lambda _, found=found: found)
    assert linked[0][0].label == kind.label
  with pytest.raises(InputError, match=r"elsewhere: no entity2vec.npy"):
    model.predict(text, span=span, vectors=tmp_path / "elsewhere")


def test_inputs_of_linked_texts(place):
  model = luke_jax.load(place / "ernie_thu")
  texts, links = [TEXT, "she saw him."], [[["Q3", *HEAD]], [["Q9", 8, 11]]]
  with pytest.warns(UserWarning, match="no vectors of 1 of 2 linked entities, such as Q9"):
    inputs = aligned_inputs(model, texts, links, vectors=place / "kg")
  assert np.argwhere(inputs["entity_mask"]).tolist() == [[0, 1]]
  assert inputs["entity_vectors"].shape == (*inputs["input_ids"].shape, WIDTH)
  one, other = (model(**x)["last_hidden_state"] for x in (inputs, bare(inputs)))
  changed = np.abs(one - other).max((1, 2))
  assert changed[0] > 1e-3
  assert changed[1] < 1e-5
  with pytest.raises(InputError, match=r"text 0: link 0: span 0 is \(0, 99\); expected 0 <= start"):
    aligned_inputs(model, texts[:1], [[["Q3", 0, 99]]], vectors=place / "kg")
  with pytest.raises(InputError, match="a BERT; expected a system that reads vectors"):
    aligned_inputs(luke_jax.load(place / "bert"), texts, links, vectors=place / "kg")


def test_a_command_from_marked_texts_to_inputs(place, tmp_path, capsys):
  """Links to unknown entities, inside of words and below the threshold are aligned to nothing."""
  marked = tmp_path / "texts.txt"
  marked.write_text("[Jim Henson](Q3) was a [puppeteer](Q5).\n\n[she](Q99) saw h[im](Q2).\n")
  command = ["graph", "align", str(place / "ernie_thu"), "--vectors", str(place / "kg")]
  assert main([*command, str(marked)]) == 0
  out = capsys.readouterr().out
  assert [line.split() for line in out.splitlines()[1:4]] == [
    ["1", "Q3", "Jim", "Henson", "Jim"],
    ["1", "Q5", "puppeteer", "puppet"],
    ["2", "Q99", "she", "(no", "vector)"],
  ]
  counts = {"texts": 2, "links": 4, "aligned": 2, "without a vector": 1}
  assert json.loads(out.splitlines()[-1]) == counts
  linked, inputs = tmp_path / "linked.jsonl", tmp_path / "inputs.npz"
  assert main([*command, str(marked), "--output", str(linked)]) == 0
  assert main([*command, str(linked), "--threshold", "1", "--output", str(inputs)]) == 0
  with np.load(inputs) as arrays:
    assert not arrays["entity_mask"].any()
  assert main([*command, str(linked), "--output", str(inputs), "--alignment", "all"]) == 0
  with np.load(inputs) as file:
    arrays = dict(file)
  assert np.argwhere(arrays["entity_mask"]).tolist() == [[0, x] for x in (1, 2, 5, 6)]
  found = luke_jax.load(place / "ernie_thu")(**arrays)["last_hidden_state"]
  assert found.shape[:2] == arrays["input_ids"].shape


@pytest.mark.parametrize(
  ("text", "more", "message"),
  [
    ("missing.txt", (), "missing.txt: no such file; expected a text or a file of texts"),
    (" ", (), "no text; expected one at least"),
    (
      "she",
      ("--output", "x.json"),
      "--output: x.json; expected a name that ends in .npz or .jsonl",
    ),
    ("she", ("--wiki", "wiki"), "--wiki, --titles: one without the other; expected both or none"),
    ("she " * 40, (), "42 tokens; expected at most max_length 32"),
  ],
)
def test_faults_of_the_command(place, capsys, text, more, message):
  command = ["graph", "align", str(place / "ernie_thu"), text, "--vectors", str(place / "kg")]
  assert main([*command, *more]) == 2
  error = capsys.readouterr().err
  assert message in error
  assert error.count("\n") == 1


def bare(inputs):
  """The words alone."""
  return {name: x for name, x in inputs.items() if not name.startswith("entity")}


def test_a_picture_of_links(place):
  picture = luke_jax.show.linked(TEXT, [("Q3", *HEAD), ("Q9", *TAIL)], vectors=place / "kg")
  assert "<h3>Q3</h3>" in picture.html
  assert "no vector" in picture.html
  assert picture.html.count("<mark") == 2
  with pytest.raises(InputError, match="count: 0; expected 1 or more"):
    luke_jax.show.linked(TEXT, [], vectors=place / "kg", count=0)


def test_without_vectors_it_reads_words_only(place):
  task = RelationClassification(labels=("x",), words=16, text=str(place / "words"))
  chosen = backbone(small(ErnieThuConfig, vocab_size=len(PIECES), pad_token_id=0))
  assert "entity_vectors" not in task.engine().row_shapes(chosen)


def test_faults_of_vectors(place, tmp_path, capsys):
  narrow = tmp_path / "narrow"
  narrow.mkdir()
  (narrow / "entity2id.txt").write_text("1\nQ1\t0\n")
  (narrow / "entity2vec.vec").write_text("1\t2\n")
  file = tmp_path / "train.jsonl"
  file.write_text('{"text": "she saw it.", "span": [0, 3], "labels": ["x"]}\n')
  command = ["train", "typing", "--train", str(file), "--dev", str(file), "--output", str(tmp_path)]
  for system, message in (
    ("ernie_thu", "vectors of width 2; expected 12, as model.entity_size has it"),
    ("bert", "expected none, for BERT reads no vectors"),
  ):
    options = ["--model", str(place / system), "--set", f"task.vectors={narrow}"]
    assert main([*command, *options]) == 2
    assert message in capsys.readouterr().err
  file.write_text('{"text": "she", "span": [0, 3], "links": [["Q1", 0, 9]], "labels": []}\n')
  assert main([*command, "--model", str(place / "ernie_thu")]) == 2
  assert "line 1: link 0: [0, 9]; expected 0 <= start < end <= 3" in capsys.readouterr().err


@pytest.mark.real_data
def test_words_and_places_of_the_authors(real_data, place, tmp_path):
  pieces = (real_data / "siblings/vocab/bert-base-uncased.vocab.txt").read_text(encoding="utf-8")
  (tmp_path / "vocab.txt").write_text(pieces, encoding="utf-8")
  with warnings.catch_warnings():
    warnings.simplefilter("error")
    task = RelationClassification(
      labels=("x",), words=16, text=str(tmp_path), vectors=str(place / "kg")
    )
  chosen = backbone(small(ErnieThuConfig, vocab_size=30522, pad_token_id=0))
  links = [["Q3", *HEAD], ["Q5", *TAIL]]
  parsed = task.parse({"text": TEXT, "head": HEAD, "tail": TAIL, "links": links}, "1", "text")
  processor = processor_for(task, chosen)
  (row,) = task.features(processor, [parsed], Faults())
  expected = [101, 1001, 3958, 27227, 1001, 2001, 1037, 1002, 13997, 11510, 1002, 1012, 102]
  assert row.input_ids.tolist() == expected
  assert np.flatnonzero(row.extra["entity_rows"] >= 0).tolist() == [2, 8]
  assert processor.tokenizer.piece_id("。") == 1636
