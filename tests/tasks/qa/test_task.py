"""A tiny model learns to answer, and says so where there is no answer."""

import dataclasses
import json
import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from networks import backbone, tiny
from small_wikis import build_wiki
from tiny import tiny_processor
from tiny_runs import program, trained

from luke_jax.errors import InputError
from luke_jax.formats.files import Faults
from luke_jax.pipeline.batches import Data
from luke_jax.systems.luke import LukeConfig
from luke_jax.tasks.predictions import Answer
from luke_jax.tasks.qa.files import EntityReference, QuestionExample
from luke_jax.tasks.qa.score import read_predictions, score_file
from luke_jax.tasks.qa.task import QuestionAnswering, linked
from luke_jax.tasks.running import checked, processor_for
from luke_jax.text import EntityVocab, save_processor
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.optimizer import Optimizer, Schedule
from luke_jax.training.scoring import evaluate
from luke_jax.wiki.mentions import make_mentions
from luke_jax.wiki.stages.engines import local
from luke_jax.wiki.stages.mentions import Filter

NAMES, PLACES, YEARS = ("Ana", "Bo", "Emi"), ("Rye", "Oslo", "Lima"), ("1912", "1984", "2001")
STEPS = 100
QUESTIONS = ("Who?", "Where?", "When?")


def question(rng, number):
  """Somebody went somewhere in some year, in any order; of every fourth text something is out."""
  parts = [rng.choice(NAMES), rng.choice(PLACES), rng.choice(YEARS)]
  asked = rng.randrange(3)
  told = [part for i, part in enumerate(parts) if number % 4 or i != asked]
  rng.shuffle(told)
  text = f"{rng.choice(('Then', 'Now', 'So'))} {' . '.join(told)} ."
  line = {"id": str(number), "text": text, "question": QUESTIONS[asked], "answers": []}
  if parts[asked] in told:
    start = text.index(parts[asked])
    line["answers"] = [[start, start + len(parts[asked])]]
  if text.startswith("So "):
    line["entities"] = [[0, 2, "Tokyo"]]
  return line


@pytest.fixture(scope="module")
def task(tmp_path_factory):
  folder = tmp_path_factory.mktemp("questions")
  save_processor(tiny_processor(), folder / "text")
  rng = random.Random(0)
  for name, count in (("train", 256), ("dev", 48)):
    lines = (json.dumps(question(rng, number)) + "\n" for number in range(count))
    (folder / f"{name}.jsonl").write_text("".join(lines))
  files = {name: str(folder / f"{name}.jsonl") for name in ("train", "dev")}
  sizes = {"words": 32, "entities": 4, "mention": 4, "answer_words": 6}
  return QuestionAnswering(**files, text=str(folder / "text"), unanswerable=True, **sizes)


def experiment(task, *, entities=True):
  processor = processor_for(task, backbone())
  model = tiny(
    vocab_size=processor.tokenizer.vocab_size,
    entity_vocab_size=len(processor.entity_vocab) if entities else 0,
    hidden_size=32,
    intermediate_size=64,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
    initializer_range=0.1,  # so small a model begins to learn much sooner
    use_entity_aware_attention=entities,
  )
  return Experiment(
    model=model,
    task=task,
    data=Data(batch_size=16, evaluation_batch_size=16),
    optimizer=Optimizer(
      learning_rate=3e-3, frozen=LukeConfig.recipes["qa"].frozen if entities else ()
    ),
    schedule=Schedule(decay="constant"),
    run=Run(steps=STEPS),
  )


@pytest.mark.slow
def test_the_engine_trains_it(task):
  made = program(experiment(task))
  state, losses = trained(made, made.fresh_state(), STEPS)
  assert jax.tree.map(np.ndim, state["frozen"]) == {
    "luke": {"entity_embeddings": {"entity": {"embedding": 2}}}
  }
  assert np.mean(losses[-5:]) < np.mean(losses[:5]) / 3
  found = evaluate(made, state, "dev")
  # Saying "no answer" of all, or the likeliest name and place and year, is right of a third.
  assert found["exact_match"] > 0.75, found
  assert found["no_answer_exact_match"] > 0.5
  assert found["best_f1"] >= found["f1"]


def test_a_model_of_words_and_its_loss(task):
  words = experiment(task, entities=False).backbone
  params = task.engine().initial_params(words, jax.random.key(0))
  row = task.engine().records(words, "train")[1]
  batch = task.engine().rows(words, [row, dataclasses.replace(row, labels=None)], [])
  assert {name: x.shape for name, x in batch.items()} == {
    "input_ids": (2, 32),
    "attention_mask": (2, 32),
    "labels": (2, 2),
  }
  loss = jax.value_and_grad(
    lambda x: task.loss(words, x, batch, task.weights(batch), None), has_aux=True
  )
  (value, numbers), gradients = jax.jit(loss)(params)
  assert numbers["tokens"] == 2 * len(row.input_ids)
  assert (np.abs(gradients["qa_outputs"]["kernel"]).max(axis=0) > 0).all()
  outputs = jax.jit(lambda x: task.engine().predict(words, x, batch))(params)
  assert outputs["start_logits"].dtype == jnp.float32
  starts, ends = (
    jax.nn.log_softmax(outputs[name][0])[row.labels[i]]
    for i, name in enumerate(("start_logits", "end_logits"))
  )
  assert value == pytest.approx(-float(starts + ends) / 2, rel=1e-5)  # of the row with labels


def test_predictions_are_written_and_read(task, tmp_path):
  examples = _examples()
  answers = [[Answer("Bo", 4, 6, 0.75), Answer("", 0, 0, 0.25)], [Answer("", 0, 0, 1.0)]]
  lines = [task.to_prediction(*pair) for pair in zip(examples, answers, strict=True)]
  assert lines[0] == {
    "id": "a",
    "answer": "Bo",
    "start": 4,
    "end": 6,
    "score": 0.75,
    "others": [["", 0, 0, 0.25]],
  }
  none = {"id": "a", "answer": "", "start": 0, "end": 0, "score": 0.0, "others": []}
  assert task.to_prediction(examples[0], []) == none  # all below a threshold
  path = tmp_path / "out.jsonl"
  path.write_text("".join(json.dumps(line) + "\n" for line in lines))
  scores = score_file(examples, read_predictions(path, Faults()))
  assert scores["exact_match"] == task.evaluate(examples, answers).scores["exact_match"] == 1


def _examples():
  asked = QuestionExample("a", "here: a", "Now Bo .", "Who?", ((4, 6),))
  return [asked, QuestionExample("b", "here: b", "Now Bo .", "When?", ())]


def test_examples_are_checked_for_answers(task):
  one, none = _examples()
  assert checked(task, [one, none], Faults()) == [one, none]
  unknown = dataclasses.replace(one, answers=None)
  with pytest.raises(InputError, match="here: a: answers: missing; expected a list"):
    checked(task, [unknown], Faults())
  every = dataclasses.replace(task, unanswerable=False)
  with pytest.raises(InputError, match=r"here: b: answers: none; expected one, or task\.un"):
    checked(every, [one, none], Faults())
  faults = Faults(skip=True)
  assert checked(every, [one, none, unknown], faults) == [one]
  assert len(faults.found) == 2
  assert task.found_labels([one, none]) == ()


@pytest.mark.parametrize(
  ("field", "value", "message"),
  [
    ("labels", ("a",), "labels: a; expected none"),
    ("stride", 0, "stride: 0; expected a whole number from 1"),
    ("n_best", 1.5, "n_best: 1.5; expected"),
    ("null_threshold", float("nan"), "null_threshold: nan; expected a number"),
    ("words", 3, "words: 3; expected a whole number from 8"),
  ],
)
def test_settings_are_checked(field, value, message):
  with pytest.raises(InputError, match=message):
    QuestionAnswering(**{field: value})


PAGES = {
  "Rye": "The town of [[Rye]] lies in [[Sussex]], far from [[Rye (city)|the city]] in America.",
  "Rye (city)": "A city in [[New York]] is [[Rye (city)|Rye]], and [[Rye (city)|Rye]] it is.",
  "Rye (grain)": "[[Rye (grain)|Rye]] grows in [[Sussex]] and near [[New York]] and so on.",
  "Sussex": "In [[Sussex]] lies the [[Rye|old town]] of that name and much else that is not here.",
  "New York": "Here is [[New York]], as they call it, and there are [[Sussex|other]] places too.",
}
TEXT = "RYE is an old town in Sussex, not in New York."


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
  folder = build_wiki(tmp_path_factory.mktemp("wiki") / "en", PAGES)
  with local(1) as engine:
    make_mentions(folder, Filter(min_link_probability=0.0), engine)
  return str(folder)


def example(title=None, **fields):
  return QuestionExample("a", "here", TEXT, "Where is the old town?", ((22, 28),), title, **fields)


def names(links, text=TEXT):
  return [(text[link.start : link.end], link.title) for link in links]


def test_the_article_decides(folder):
  """Its links alone count, and "old town" is none of them."""
  (found,) = linked([example("Rye")], folder)
  assert names(found.entities) == [("RYE", "Rye"), ("Sussex", "Sussex")]
  assert found.question_entities == ()
  for title in ("Rye_(city)", "Rye%20(city)"):
    (found,) = linked([example(title)], folder)
    assert names(found.entities) == [("RYE", "Rye (city)"), ("New York", "New York")]


def test_without_an_article_the_likeliest_page_counts(folder):
  for title in (None, "No such page"):
    (found,) = linked([example(title)], folder)
    assert names(found.entities) == [
      ("RYE", "Rye (city)"),
      ("old town", "Rye"),
      ("Sussex", "Sussex"),
      ("New York", "New York"),
    ]
    assert names(found.question_entities, found.question) == [("old town", "Rye")]


def test_entities_of_the_file_go_first(folder):
  given = example("Rye", entities=(), question_entities=(EntityReference(9, 12, "Sussex"),))
  assert linked([given], folder) == [given]


def test_what_the_vocabulary_lacks_takes_its_place_and_is_left_out(folder):
  vocab = EntityVocab({"[PAD]": 0, "[UNK]": 1, "[MASK]": 2, "Sussex": 3, "Rye (grain)": 4})
  processor = dataclasses.replace(tiny_processor(), entity_vocab=vocab, max_length=128)
  task = QuestionAnswering(mentions=folder, words=128)
  (row,) = task.features(processor, [example()])
  assert row.entity_ids.tolist() == [3]
  assert processor.tokenizer.decode(row.input_ids[slice(*row.entity_tokens[0])]) == " Sussex"
  (row,) = QuestionAnswering(words=128).features(processor, [example()])
  assert not len(row.entity_ids)


def test_no_table(tmp_path):
  with pytest.raises(InputError, match=r"no table of mentions; expected luke-jax wiki mentions"):
    linked([example()], str(tmp_path))
