"""Named entity recognition through the engine, and what it refuses."""

import dataclasses
import random

import jax
import numpy as np
import pytest
from tiny import TEXTS, tiny_processor
from tiny_runs import TINY, trained

from luke_jax.errors import InputError
from luke_jax.inference.settings import settings_of
from luke_jax.pipeline.batches import Data
from luke_jax.tasks.files import Faults
from luke_jax.tasks.ner.documents import of_words
from luke_jax.tasks.ner.files import parse
from luke_jax.tasks.ner.task import NamedEntities
from luke_jax.tasks.predictions import Span
from luke_jax.training.experiment import Experiment
from luke_jax.training.loop import evaluate
from luke_jax.training.mesh import make_mesh
from luke_jax.training.optimizer import Optimizer
from luke_jax.training.program import Program

LABELS = ("NIL", "LOC", "PER")


def made_up(path, documents, seed):
  """Documents in IOB2: what follows "in" is a place, of one word or of two, "Ana …" a person."""
  draw, lines = random.Random(seed), []
  for _ in range(documents):
    lines += ["-DOCSTART- O", ""]
    for _ in range(draw.randint(1, 3)):
      person = ["Ana", draw.choice(["lo", "be", "to"])]
      place = [draw.choice(["be", "lo", "so"]), "City"][: draw.randint(1, 2)]
      words = [*zip(person, ("B-PER", "I-PER"), strict=True), ("is", "O"), ("in", "O")]
      words += zip(place, ("B-LOC", "I-LOC"), strict=False)
      lines += [f"{word} {tag}" for word, tag in [*words, (".", "O")]] + [""]
  path.write_text("\n".join(lines) + "\n")
  return str(path)


def experiment(tmp_path, **model):
  task = NamedEntities(
    train=made_up(tmp_path / "train.conll", 60, 1),
    dev=made_up(tmp_path / "dev.conll", 10, 2),
    text=str(TEXTS / "byte_level"),
    labels=LABELS,
    words=32,
    entities=16,
    mention=6,
    span_words=3,
  )
  vocabulary = tiny_processor().tokenizer.vocab_size
  sizes = {"vocab_size": vocabulary, "entity_vocab_size": 4}
  return Experiment(
    model=dataclasses.replace(TINY, num_hidden_layers=1, **(sizes | model)),
    task=task,
    data=Data(batch_size=16, evaluation_batch_size=16),
    optimizer=Optimizer(learning_rate=5e-3, frozen=("luke/pooler",)),
  )


def test_a_pattern_is_learned(tmp_path):
  chosen = experiment(tmp_path)
  program = Program(chosen, make_mesh(chosen.mesh, jax.devices()[:1]), steps=60)
  state, losses = trained(program, program.fresh_state(), 60)
  assert losses[-1] < losses[0] / 8
  assert evaluate(program, state, "dev")["f1"] > 0.8


def test_a_model_of_words_only_has_a_loss_and_gradients(tmp_path):
  chosen = experiment(tmp_path, entity_vocab_size=0, use_entity_aware_attention=False)
  task, words = chosen.task, chosen.backbone
  params = task.initial_params(words, jax.random.key(0))
  records = task.records(words, "dev")
  batch = task.rows(words, [records[0], records[1]], [])
  assert {name: x.shape[1:] for name, x in batch.items()} == {
    name: row.shape for name, row in task.row_shapes(words).items()
  }
  loss = jax.jit(
    jax.value_and_grad(lambda params: task.loss(words, params, batch, task.weights(batch), None)[0])
  )
  value, gradients = loss(params)
  assert np.isfinite(value)
  assert np.abs(gradients["classifier"]["kernel"]).max() > 0
  assert gradients["classifier"]["kernel"].shape[0] == 2 * words.config.hidden_size


def test_how_files_are_read_is_not_stored_with_the_model():
  form = {"columns": ("word", "tag"), "repair_tags": True, "tag_names": ("O", "B-X")}
  assert settings_of(NamedEntities(**form)) == settings_of(NamedEntities())


def test_labels_of_a_file():
  examples = [
    parse({"text": "a b", "spans": [[0, 1, label], [2, 3, "A"]]}, "1", "p") for label in "CB"
  ]
  assert NamedEntities().found_labels(examples) == ("NIL", "A", "B", "C")


@pytest.mark.parametrize(
  ("spans", "fault"),
  [
    (None, "here: no spans; expected those of the entities, or tags"),
    ([[0, 1, "LUC"]], "here: label 'LUC': not among the model's 2; expected one of LOC, PER, per"),
    ([[0, 1, "NIL"]], "here: label 'NIL': not among the model's 2; expected one of LOC, PER"),
  ],
)
def test_what_cannot_be_trained_on(spans, fault):
  value = {"text": "a"} if spans is None else {"text": "a", "spans": spans}
  good = parse({"text": "a", "spans": [[0, 1, "PER"]]}, "2", "here")
  examples, task = [parse(value, "1", "here"), good], NamedEntities(labels=LABELS)
  with pytest.raises(InputError) as found:
    task.check(examples, Faults())
  assert str(found.value).startswith(fault)
  assert task.check(examples, Faults(skip=True)) == [good]


def test_an_unknown_label_is_told_by_its_line(tmp_path):
  path = tmp_path / "a.conll"
  path.write_text("-DOCSTART- O\n\na O\n\nb B-PER\nc B-ORG\n")
  task = NamedEntities(labels=LABELS)
  with pytest.raises(InputError, match=r"a\.conll: line 6: label 'ORG': not among"):
    task.check(task.read(path, Faults()), Faults())


@pytest.mark.parametrize(
  ("fields", "fault"),
  [
    ({"span_words": 0}, "span_words: 0; expected a whole number from 1"),
    ({"span_words": None}, "span_words: None; expected a whole number from 1"),
    ({"span_pieces": 0}, "span_pieces: 0; expected a whole number from 1"),
    ({"entities": 0}, "entities: 0; expected a whole number from 1"),
    ({"labels": ("A", "A")}, "labels: A: twice; expected each once"),
  ],
)
def test_bad_settings(fields, fault):
  with pytest.raises(InputError) as found:
    NamedEntities(**fields)
  assert str(found.value) == fault


def test_settings_of_reading(tmp_path):
  path = tmp_path / "a.conll"
  path.write_text("Rome O\n. O\n")
  (example,) = NamedEntities(every_word_spaced=True).read(path, Faults())
  assert example.text == " Rome ."
  text = {"text": "Am 3. Mai kam er."}
  for language, sentences in (("en", 2), ("de", 1)):
    example = NamedEntities(language=language).parse(text, "1", "p")
    assert len(example.sentences) == sentences


def test_predictions_are_written_as_the_file_has_spans():
  task = NamedEntities()
  words = of_words("a", "p", [["Ana", "'s", "Rome"]])
  assert words.text == " Ana's Rome"
  spans = [Span("Rome", 7, 11, "LOC", 0.98765)]
  assert task.to_prediction(words, spans) == {
    "id": "a",
    "spans": [[2, 3, "LOC"]],
    "texts": ["Rome"],
    "scores": [0.9877],
  }
  text = parse({"text": "  Ana's Rome"}, "a", "p")
  assert task.to_prediction(text, [Span("Rome", 8, 12, "LOC", 0.5)])["spans"] == [[8, 12, "LOC"]]
