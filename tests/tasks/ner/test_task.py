"""Named entity recognition through the engine, and what it refuses."""

import dataclasses
import random

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import TEXTS, tiny_model, tiny_processor
from tiny_runs import TINY, trained

from luke_jax.errors import InputError
from luke_jax.formats.files import Faults
from luke_jax.inference.batches import outputs, shapes_of
from luke_jax.inference.settings import processor_of, settings_of, task_of
from luke_jax.models.system import Backbone
from luke_jax.nn.losses import IGNORED
from luke_jax.pipeline.batches import Data
from luke_jax.tasks.ner.documents import of_words
from luke_jax.tasks.ner.features import CandidateLimits, features
from luke_jax.tasks.ner.files import parse
from luke_jax.tasks.ner.task import NamedEntities, entities_of
from luke_jax.tasks.predictions import Span
from luke_jax.tasks.running import Running, checked, fitted
from luke_jax.training.experiment import Experiment
from luke_jax.training.mesh import make_mesh
from luke_jax.training.optimizer import Optimizer
from luke_jax.training.program import Program
from luke_jax.training.scoring import evaluate

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
    optimizer=Optimizer(learning_rate=1e-2, frozen=("luke/pooler",)),
  )


def test_a_pattern_is_learned(tmp_path):
  chosen = experiment(tmp_path)
  program = Program(chosen, make_mesh(chosen.mesh, jax.devices()[:1]), steps=30)
  state, losses = trained(program, program.fresh_state(), 30)
  assert losses[-1] < losses[0] / 8
  assert evaluate(program, state, "dev")["f1"] > 0.8


def test_a_model_of_words_only_has_a_loss_and_gradients(tmp_path):
  chosen = experiment(tmp_path, entity_vocab_size=0, use_entity_aware_attention=False)
  task, words = chosen.task, chosen.backbone
  params = task.engine().initial_params(words, jax.random.key(0))
  records = task.engine().records(words, "dev")
  batch = task.engine().rows(words, [records[0], records[1]], [])
  assert {name: x.shape[1:] for name, x in batch.items()} == {
    name: row.shape for name, row in task.engine().row_shapes(words).items()
  }
  loss = jax.jit(
    jax.value_and_grad(lambda params: task.loss(words, params, batch, task.weights(batch), None)[0])
  )
  value, gradients = loss(params)
  assert np.isfinite(value)
  assert np.abs(gradients["classifier"]["kernel"]).max() > 0
  assert gradients["classifier"]["kernel"].shape[0] == 2 * words.config.hidden_size


def words_only():
  """A model without entity tokens, and its task with the settings that it was trained with."""
  sizes = {"entity_vocab_size": 0, "use_entity_aware_attention": False}
  model = tiny_model("LukeForEntitySpanClassification", **sizes)
  return model, task_of(model, span_words=3)


def test_spans_by_words_are_scored_by_their_first_and_last(monkeypatch):
  """And the words that a model reads of a long text are hardly more than the text has."""
  model, task = words_only()
  example = task.parse({"text": "Ana sings in Los Angeles. " * 70}, "1", "here")
  processor = processor_of(model, task)
  rows = task.features(processor, [example])
  read = []
  inputs = Running.inputs
  monkeypatch.setattr(
    Running,
    "inputs",
    lambda self, backbone, some, sizes, pad: (
      read.append(sizes.words * len(some)) or inputs(self, backbone, some, sizes, pad)
    ),
  )
  logits = outputs(model, task, rows, 0, shapes_of(model.backbone))["logits"]
  assert len(rows) > 1 and sum(read) < 1.4 * sum(len(row.input_ids) for row in rows)
  classifier = model.params["classifier"]
  ids, none = np.stack([row.input_ids for row in rows]), np.zeros((len(rows), 1), int)
  places = {"entity_start_positions": none, "entity_end_positions": none}
  states = np.asarray(model(input_ids=ids, **places)["last_hidden_state"])
  for row, found, words in zip(rows, logits, states, strict=True):
    first, last = row.entity_tokens[:, 0], row.entity_tokens[:, 1] - 1
    pairs = np.concatenate([words[first], words[last]], axis=-1)
    expected = pairs @ classifier["kernel"] + classifier["bias"]
    np.testing.assert_allclose(found[: len(expected)], expected, atol=1e-4)
  assert len(task.decode([example], rows, {"logits": logits})) == 1


def test_independent_candidates_are_scored_the_same_in_any_rows():
  """Of a document that is read once, in windows."""
  model = tiny_model("LukeForEntitySpanClassification", independent_entities=True)
  text = "Ana sings in Los Angeles. " * 12
  scores = []
  for entities in (8, 64):
    task = dataclasses.replace(task_of(model, span_words=3), window=32, entities=entities)
    rows = task.features(processor_of(model, task), [task.parse({"text": text}, "1", "here")])
    logits = outputs(model, task, rows, 0, shapes_of(model.backbone))["logits"]
    assert {len(row.input_ids) for row in rows} <= set(range(20, 33))
    spans = [tuple(span) for row in rows for span in row.source.tolist()]
    found = [x[: len(row.source)] for x, row in zip(logits, rows, strict=True)]
    scores.append(dict(zip(spans, np.concatenate(found), strict=True)))
  one, other = scores
  assert len(one) == len(other) > 100
  for span, logit in one.items():
    np.testing.assert_allclose(logit, other[span], atol=1e-5)


def test_candidates_by_words_count_as_much_in_any_batch():
  model, task = words_only()
  task = dataclasses.replace(task, words=64)
  texts = ["Ana sings in Los Angeles and in Rome .", "Ana ."]
  examples = [parse({"text": text, "spans": [[0, 3, "place"]]}, "1", "p") for text in texts]
  long, short = task.features(fitted(task, tiny_processor(), model.backbone), examples)
  backbone = Backbone(model.config)
  rooms = {name: row.shape for name, row in task.engine().row_shapes(backbone).items()}
  assert rooms["labels"] == rooms["entity_start_positions"] == (64 * 3,)
  labels = np.full((2, 64 * 3), IGNORED)
  weights = []
  for other in (long, short):
    for i, row in enumerate((short, other)):
      labels[i] = IGNORED
      labels[i, : len(row.labels)] = row.labels
    weights.append(task.weights({"labels": labels})[0])
  np.testing.assert_array_equal(*weights)
  assert weights[0].sum() > 0
  entities = {"labels": labels, "entity_ids": labels}
  np.testing.assert_allclose(task.weights(entities).sum(), 1, rtol=1e-6)  # a LUKE's: a mean


def test_how_files_are_read_is_not_stored_with_the_model():
  form = {"columns": ("word", "tag"), "repair_tags": True, "tag_names": ("O", "B-X")}
  assert settings_of(NamedEntities(**form)) == settings_of(NamedEntities())


def test_documents_are_read_in_windows_as_long_as_the_rows_of_the_training():
  """Longer ones, whose places a model never saw with names, hide half of the names from it."""
  saved = [settings_of(NamedEntities(words=words)) for words in (48, 512)]
  assert [x["luke_jax"]["settings"]["window"] for x in saved] == [48, 128]
  model, task = words_only()
  task = dataclasses.replace(task, window=48)  # as the model's config.json has it
  example = task.parse({"text": "Ana sings in Los Angeles. " * 40}, "1", "here")
  rows = task.features(processor_of(model, task), [example])
  assert task.words == 512 and max(len(row.input_ids) for row in rows) <= 48


@pytest.mark.parametrize(
  "text",
  [
    "Ana sings in Los Angeles. ",
    "北京是中华人民共和国的首都，",
    "a,b;",
    "%E5",
    "A. ",
    "x\n",
    "s/a-b_",
  ],
)
def test_what_is_read_grows_with_the_word_pieces_of_a_text_whatever_it_is(text):
  """A piece of an address or of Chinese is read no more often than one of prose."""
  model, task = words_only()
  task = dataclasses.replace(task, window=48)
  processor = processor_of(model, task)
  text = (text * 5000)[:5000]
  pieces = len(processor.tokenizer.encode([text])[0].ids)
  rows = task.features(processor, [task.parse({"text": text}, "1", "here")])
  assert sum(len(row.input_ids) for row in rows) <= 1.7 * pieces


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
    checked(task, examples, Faults())
  assert str(found.value).startswith(fault)
  assert checked(task, examples, Faults(skip=True)) == [good]


def test_an_unknown_label_is_told_by_its_line(tmp_path):
  path = tmp_path / "a.conll"
  path.write_text("-DOCSTART- O\n\na O\n\nb B-PER\nc B-ORG\n")
  task = NamedEntities(labels=LABELS)
  with pytest.raises(InputError, match=r"a\.conll: line 6: label 'ORG': not among"):
    checked(task, task.read(path, Faults()), Faults())


@pytest.mark.parametrize(
  ("fields", "fault"),
  [
    ({"span_words": 0}, "span_words: 0; expected a whole number from 1"),
    ({"span_words": None}, "span_words: None; expected a whole number from 1"),
    ({"span_pieces": 0}, "span_pieces: 0; expected a whole number from 1"),
    ({"window": 7}, "window: 7; expected a whole number from 8"),
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


PROCESSOR = dataclasses.replace(tiny_processor(), max_length=64, max_entity_length=5)


def rows_of(examples):
  return features(
    PROCESSOR, examples, CandidateLimits(3, None, True), labels=LABELS, faults=Faults()
  )


def logits_of(rows, scored):
  """Logits of every row: NIL, but for the spans of words of an example that are scored."""
  outputs = []
  for row in rows:
    logits = np.tile(np.float32([5, 0, 0]), (8, 1))
    for i, span in enumerate(map(tuple, row.source.tolist())):
      logits[i] = scored.get((row.example, *span), logits[i])
    outputs.append(logits)
  return outputs


def test_the_highest_logit_wins_over_all_rows():
  examples = [
    of_words("1", "p", [["Ana", "Los", "Angeles"], ["Rome"]]),
    of_words("2", "p", []),
    of_words("3", "p", [["Oslo"]]),
  ]
  rows = rows_of(examples)
  assert len(rows) > len(examples)
  scored = {
    (0, 1, 2): [0, 6, 1],
    (0, 1, 3): [0, 7, 1],  # above the one before, which overlaps
    (0, 0, 3): [6.5, 6, 1],  # best is NIL
    (0, 0, 1): [1, 2, 3],
    (0, 3, 4): [2, 8, 8.5],
    (2, 0, 1): [0, 0.5, 0],
  }
  outputs = {"logits": logits_of(rows, scored)}
  first, second, third = entities_of(examples, rows, outputs, LABELS)
  assert [(span.text, span.label) for span in first] == [
    ("Ana", "PER"),
    ("Los Angeles", "LOC"),
    ("Rome", "PER"),
  ]
  assert second == []
  assert (third[0].text, third[0].label) == ("Oslo", "LOC")
  np.testing.assert_allclose(third[0].score, np.exp(0.5) / (2 + np.exp(0.5)), rtol=1e-6)
  for example, spans in zip(examples, (first, second, third), strict=True):
    assert all(example.text[span.start : span.end] == span.text for span in spans)


def test_rows_may_be_of_many_widths_or_one_array():
  example = of_words("1", "p", [["Ana", "in", "Rome"]])
  rows = rows_of([example])
  wide = logits_of(rows, {(0, 2, 3): [0, 1, 0]})
  narrow = [logits[: len(row.entity_ids)] for row, logits in zip(rows, wide, strict=True)]
  assert entities_of([example], rows, {"logits": wide}, LABELS) == entities_of(
    [example], rows, {"logits": narrow}, LABELS
  )
  assert entities_of([example], rows, {"logits": np.stack(wide)}, LABELS)[0][0].text == "Rome"


def test_nothing_to_decode():
  assert entities_of([of_words("1", "p", [])], [], {}, LABELS) == [[]]


@given(st.data())
def test_greedy_by_logit(data):
  sentences = data.draw(st.lists(st.lists(st.just("a"), min_size=1, max_size=5), max_size=3))
  example = of_words("1", "p", sentences)
  rows = rows_of([example])
  candidates = [tuple(span) for row in rows for span in row.source.tolist()]
  logit = st.integers(-3, 3).map(float)
  scored = {(0, *span): data.draw(st.tuples(logit, logit, logit)) for span in candidates}
  left = [(max(x), *key[1:], x.index(max(x))) for key, x in scored.items() if x.index(max(x))]
  expected = []
  while left:
    best = max(left, key=lambda x: x[0])  # the first of those that are as good
    expected.append(best[1:])
    left = [x for x in left if x[2] <= best[1] or best[2] <= x[1]]
  (found,) = entities_of([example], rows, {"logits": logits_of(rows, scored)}, LABELS)
  words = example.words
  assert [(span.start, span.end, span.label) for span in found] == [
    (words[start][0], words[end - 1][1], LABELS[label]) for start, end, label in sorted(expected)
  ]


def test_hidden_labels_are_shown_if_they_are_asked_for():
  examples = [of_words("1", "p", [["Ana", "in", "Rome"]])]
  rows = rows_of(examples)
  logits = logits_of(rows, {(0, 0, 1): [0, 1, 6], (0, 2, 3): [0, 6, 1]})
  task = NamedEntities(labels=LABELS, hidden=("LOC",))
  for labels, expected in ((None, ["PER"]), (["LOC"], ["LOC"]), (["LOC", "PER"], ["PER", "LOC"])):
    asked = task if labels is None else dataclasses.replace(task, **task.showing(labels))
    (spans,) = asked.decode(examples, rows, {"logits": logits})
    assert [x.label for x in spans] == expected
  assert task.showing(["LOC", "ship"]) == {} and task.shown_labels == ("NIL", "PER")
