"""From words to rows, from logits to entities, with and without a chain; a model learns them."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from marked_tasks import TEXT, experiment, learned, with_labels, written
from networks import backbone
from small_systems import DISTINCT

from luke_jax.errors import InputError
from luke_jax.formats.files import Faults
from luke_jax.heads.kinds import class_names
from luke_jax.heads.labels import ChainHead, packed, unpacked
from luke_jax.inference.settings import settings_of, task_with
from luke_jax.models.system import States, Tables
from luke_jax.nn import crf
from luke_jax.nn.layers import Numerics
from luke_jax.nn.losses import IGNORED
from luke_jax.tasks.ner.documents import of_words, to_characters
from luke_jax.tasks.predictions import Labelled
from luke_jax.tasks.running import checked, processor_for
from luke_jax.tasks.tagging.task import Tagging, best_tags
from luke_jax.training.optimizer import Optimizer

LABELS = ("O", "B-LOC", "I-LOC", "B-PER", "I-PER")
TASK = Tagging(text=TEXT, labels=LABELS, words=40)
WORDS = ["Ana", "Lopez", "went", "to", "Rome", "today"]


def document(*sentences, spans=()):
  example = of_words("1", "FILE: line 1", sentences)
  return dataclasses.replace(example, spans=to_characters(example, [Labelled(*x) for x in spans]))


EXAMPLE = document(WORDS, ["It", "rained"], spans=[(0, 2, "PER"), (4, 5, "LOC")])


def rows(*examples, **settings):
  task = dataclasses.replace(TASK, **settings)
  return task.features(processor_for(task, backbone()), examples)


def pieces(row):
  decode = processor_for(TASK, backbone()).tokenizer.decode
  return [decode([id]) for id in row.input_ids]


def test_the_first_piece_of_a_word_has_its_tag():
  first, second = rows(EXAMPLE)
  whole = "".join(pieces(first)).replace(" ", "")
  assert whole == "<s>AnaLopezwenttoRometodayItrained</s>"  # with the sentence after it
  assert first.source.words.tolist() == [0, 1, 2, 3, 4, 5] and second.source.words.tolist() == [
    6,
    7,
  ]
  tags = [LABELS[i] for i in first.labels[first.source.pieces]]
  assert tags == ["B-PER", "I-PER", "O", "O", "B-LOC", "O"]
  starts = [pieces(first)[i].strip() for i in first.source.pieces]
  assert all(word.startswith(start) for word, start in zip(WORDS, starts, strict=True))
  others = np.delete(first.labels, first.source.pieces)
  assert len(others) and np.all(others == IGNORED)
  alone = rows(EXAMPLE, context=False)[0]
  assert "".join(pieces(alone)).replace(" ", "") == "<s>AnaLopezwenttoRometoday</s>"


def test_a_long_sentence_has_windows_that_overlap():
  words = [f"w{i}" for i in range(30)]
  found = rows(document(words), words=24)
  assert len(found) > 2 and all(len(row.input_ids) <= 24 for row in found)
  times = np.bincount(np.concatenate([row.source.words for row in found]), minlength=30)
  assert times.min() == 1 and np.median(times) == 2
  # The words at the edges of a window are tagged in another one, in whose middle they stand.
  logits = []
  for row in found:
    of_row = np.zeros((24, len(LABELS)))
    count = len(row.source.words)
    deep = np.minimum(np.arange(count), np.arange(count)[::-1])
    of_row[row.source.pieces[deep >= 1], 3] = 5.0
    logits.append(of_row)
  (tagged,) = TASK.decode([document(words)], found, {"logits": logits})
  assert tagged.tags == ("O", *["B-PER"] * 28, "O")


def decoded(tags, example=EXAMPLE, **settings):
  """What is decoded where these tags of the first sentence are the most probable."""
  task = dataclasses.replace(TASK, **settings)
  found = task.features(processor_for(task, backbone()), [example])
  logits = np.zeros((len(found), task.words, len(task.labels)))
  logits[:, :, 0] = 1.0
  for place, tag in zip(found[0].source.pieces, tags.split(), strict=True):
    logits[0, place, task.labels.index(tag)] = 3.0
  outputs = {"logits": logits}
  if task.crf:
    count = len(task.labels)
    outputs["chain"] = np.zeros((len(found), count + 2, count))
  (tagged,) = task.decode([example], found, outputs)
  return task, tagged


def test_tags_become_entities_of_the_text():
  task, found = decoded("B-PER I-PER O O B-LOC O")
  assert [(x.text, x.label) for x in found] == [("Ana Lopez", "PER"), ("Rome", "LOC")]
  share = np.exp(3) / (np.exp(3) + np.exp(1) + 3)
  assert found[0].score == pytest.approx(share, rel=1e-5)
  assert EXAMPLE.text[found[0].start : found[0].end] == found[0].text
  evaluation = task.evaluate([EXAMPLE], [found])
  assert evaluation.scores == {"f1": 1.0, "precision": 1.0, "recall": 1.0, "lenient_f1": 1.0}
  line = task.to_prediction(EXAMPLE, found)
  assert line["spans"] == [[0, 2, "PER"], [4, 5, "LOC"]] and line["tags"][0] == "B-PER"


def test_strict_and_lenient_readings_of_illegal_tags():
  labels = ("O", *(f"{prefix}-{label}" for label in ("LOC", "PER") for prefix in "BIES"))
  spans = [(0, 1, "PER"), (2, 4, "LOC"), (5, 7, "PER")]
  example = document(["a", "b", "c", "d", "e", "f", "g"], spans=spans)
  tags = "S-PER O I-LOC E-LOC O B-PER O"
  strict, found = decoded(tags, example, labels=labels)
  assert [x.text for x in found] == ["a"]
  scores = strict.evaluate([example], [found]).scores
  assert scores["lenient_f1"] == pytest.approx(2 / 3) and scores["recall"] == pytest.approx(1 / 3)
  lenient, found = decoded(tags, example, labels=labels, lenient=True)
  evaluation = lenient.evaluate([example], [found])
  assert evaluation.scores == pytest.approx(dict.fromkeys(evaluation.scores, 2 / 3))
  assert {name: row["f1"] for name, row in evaluation.labels.items()} == {"LOC": 1.0, "PER": 0.5}


def test_with_a_chain_paths_are_legal():
  _, alone = decoded("O I-PER O O B-LOC O")
  _, chained = decoded("O I-PER O O B-LOC O", crf=True)
  assert alone.tags[:2] == ("O", "I-PER") and chained.tags[:2] == ("O", "O")
  assert [x.text for x in alone] == [x.text for x in chained] == ["Rome"]
  assert 0 < min(chained.scores) < 1


def test_paths_of_many_rows_are_those_of_each_alone():
  rng = np.random.default_rng(0)
  lengths = [*range(1, 39), *[3] * 70]  # more than go together, and fewer
  found = rows(*(document(["a"] * length) for length in lengths), crf=True)
  count = len(LABELS)
  logits = rng.normal(0, 2, (len(found), TASK.words, count))
  chain = np.broadcast_to(rng.normal(0, 2, (count + 2, count)), (len(found), count + 2, count))

  def best(some):
    outputs = {"logits": logits[some], "chain": chain[some]}
    return best_tags(found[some], outputs, LABELS, "BIO")

  together = best(slice(None))
  assert [len(tags) for tags, _ in together] == lengths
  for i in (0, 15, 16, 37, 38, 107):
    ((tags, chances),) = best(slice(i, i + 1))
    np.testing.assert_array_equal(together[i][0], tags)
    np.testing.assert_allclose(together[i][1], chances, rtol=1e-5)


def test_loss_of_rows_with_a_chain():
  rng = np.random.default_rng(0)
  states = States(jnp.asarray(rng.normal(size=(3, 5, 4)), jnp.float32))
  labels = np.array([[IGNORED, 0, 2, IGNORED, 1], [IGNORED] * 5, [IGNORED, 1, 1, 0, IGNORED]])
  tables = Tables(jnp.zeros((5, 4)))
  head = ChainHead(Numerics(), 3)
  params = jax.jit(head.init)(jax.random.key(0), states, tables)
  outputs = head.apply(params, states, tables)
  chain = unpacked(outputs["chain"][0])
  np.testing.assert_array_equal(packed(chain), outputs["chain"][2])
  per_row = jax.jit(crf.path_losses)(outputs["logits"], labels, labels != IGNORED, chain)
  mean = (per_row[0] + per_row[2]) / 2
  task = dataclasses.replace(TASK, crf=True)
  weights = task.weights({"labels": jnp.asarray(labels)})
  assert weights.tolist() == [0.5, 0.0, 0.5]
  for given in (None, weights):
    np.testing.assert_allclose(jax.jit(head.loss)(outputs, labels, given), mean, rtol=1e-6)
  # Paths that are forbidden have no part in the sum, so that the loss is smaller.
  legal = ((True, True, True), (True, True, False), (True, True, True), (True,) * 3, (True,) * 3)
  constrained = jax.jit(head.clone(legal=legal).loss)(outputs, labels)
  assert 0 < constrained < mean - 1e-3
  loss = jax.jit(jax.grad(lambda p: head.loss(head.apply(p, states, tables), labels)))
  gradients = loss(params)
  assert all(np.isfinite(x).all() and np.any(x) for x in jax.tree.leaves(gradients))


def test_constrained_training_is_of_the_scheme():
  task = dataclasses.replace(TASK, crf=True, constrained=True)
  head = task.network(backbone()).head
  assert sum(map(sum, head.legal)) == 27 and task.head == "crf"
  assert dataclasses.replace(TASK, crf=True).network(backbone()).head.legal is None
  assert TASK.network(backbone()).head.kind == "token"


def test_a_saved_model_knows_its_scheme_and_its_chain():
  task = Tagging(labels=("O", "I-X", "B-X"), scheme="IOB1", crf=True)
  again = task_with(Tagging, settings_of(task), task.labels, backbone().config)
  assert (again.tag_scheme, again.head) == ("IOB1", "crf")
  hub = task_with(Tagging, {}, ("O", "I-X", "I-Y", "B-Y"), backbone().config)
  assert (hub.tag_scheme, hub.head) == ("IOB1", "token")


@pytest.mark.parametrize("scheme", ["IOB2", "IOB1", "BIOES", "BMESO"])
def test_labels_of_a_file_in_a_scheme(scheme):
  task = dataclasses.replace(TASK, labels=(), scheme=scheme)
  task = dataclasses.replace(task, labels=task.found_labels([EXAMPLE]))
  assert task.labels[0] == "O" and len(task.labels) == (5 if scheme.startswith("IOB") else 9)
  row = rows(EXAMPLE, labels=task.labels, scheme=scheme)[0]
  assert IGNORED not in row.labels[row.source.pieces]


def test_entities_that_tags_cannot_say_are_counted():
  nested = document(WORDS, spans=[(0, 2, "PER"), (1, 2, "LOC"), (4, 5, "LOC")])
  with pytest.warns(match="1 of 3 entities cannot be tagged"):
    (row,) = rows(nested)
  assert [LABELS[i] for i in row.labels[row.source.pieces]][:2] == ["B-PER", "I-PER"]


@pytest.mark.parametrize(
  ("settings", "expected"),
  [
    ({"labels": ("O", "PER")}, "labels: 'PER'; expected tags"),
    ({"labels": ("B-PER",)}, "labels: B-PER; expected O among them"),
    ({"scheme": "BMESO"}, "labels: 'I-LOC'; expected tags such as B, M, E, S-PER"),
    ({"constrained": True}, "constrained: true; expected it with crf=true"),
  ],
)
def test_settings_that_do_not_fit(settings, expected):
  with pytest.raises(InputError, match=expected):
    dataclasses.replace(TASK, **settings)


def test_documents_that_cannot_be_trained_on(tmp_path):
  other = document(WORDS, spans=[(0, 1, "ORG")])
  with pytest.raises(InputError, match="label 'ORG': not among the model's 2; expected one of LOC"):
    checked(TASK, [other], Faults())
  with pytest.raises(InputError, match="FILE: line 1: no spans; expected those of the entities"):
    checked(TASK, [dataclasses.replace(EXAMPLE, spans=None)], Faults())
  path = written(tmp_path / "none.jsonl", [{"text": "Nothing here.", "spans": []}])
  with pytest.raises(InputError, match=r"none.jsonl: no entities that can be tagged"):
    dataclasses.replace(TASK, train=str(path)).engine().records(backbone(), "train")


@pytest.mark.slow
def test_a_model_with_a_chain_learns_names(tmp_path):
  values = [
    {"tokens": [first, verb, place], "spans": [[0, 1, "PER"], [2, 3, "LOC"]]}
    for first in ("Ana", "Bo", "Cy")
    for verb, place in (("saw", "Rome"), ("left", "Oslo"), ("likes", "Rome"))
  ]
  files = {split: str(written(tmp_path / f"{split}.jsonl", values)) for split in ("train", "dev")}
  task = with_labels(Tagging(text=TEXT, words=16, crf=True, constrained=True, **files))
  chosen = experiment(task, num_hidden_layers=1)
  chosen = dataclasses.replace(chosen, optimizer=Optimizer(learning_rate=1e-2))
  losses, scores = learned(chosen, 40)
  assert losses[-1] < losses[0] / 3 and scores["f1"] > 0.9


@pytest.mark.parametrize(
  "system", [x for x in DISTINCT if "token" in class_names(x)], ids=lambda x: x.name
)
def test_every_system_that_tags_words_has_a_chain_too(system):
  assert "crf" in class_names(system)
