"""Settings that suit a user's examples, and what the command says of them."""

import dataclasses
import json
from pathlib import Path

import pytest
from marked_tasks import TEXT, random_bert, written
from networks import backbone
from sample_models import sample_file, save_start

import luke_jax
from luke_jax.errors import InputError
from luke_jax.inference.settings import task_of
from luke_jax.models.table import SIZES
from luke_jax.runs import rules
from luke_jax.runs.outline import outline
from luke_jax.runs.recipes import in_form, task_experiment
from luke_jax.serve.guard import Limits
from luke_jax.serve.service import Service
from luke_jax.systems.bert import BertConfig
from luke_jax.tasks.classification.task import TextClassification
from luke_jax.tasks.ner.task import NamedEntities
from luke_jax.tasks.tagging.task import Tagging
from luke_jax.training.experiment import total_steps


@pytest.fixture(scope="module")
def start(tmp_path_factory):
  return save_start(tmp_path_factory.mktemp("start") / "luke")


def made(start, *assignments, dev=True):
  files = sample_file("typing", "train"), sample_file("typing", "dev") if dev else None
  return task_experiment("typing", files, Path(start), assignments)


def test_settings_suit_the_number_and_the_lengths_of_rows(start):
  chosen = made(start)
  rows = chosen.engine.records(chosen.backbone, "train")
  assert chosen.run.epochs == pytest.approx(10 * (200 / len(rows)) ** 0.4, abs=0.05)
  assert chosen.optimizer.learning_rate == 5e-4  # a narrow model
  assert made(start, "optimizer.adapter=2").optimizer.learning_rate == 1e-3
  given = "optimizer.learning_rate=2e-4"
  assert made(start, "optimizer.adapter=2", given).optimizer.learning_rate == 2e-4
  lengths = chosen.engine.lengths(rows)
  assert max(lengths) <= chosen.task.words < max(lengths) + 64
  assert chosen.data.lengths == 1  # a tiny model trains on padding faster than programs compile
  large = dataclasses.replace(chosen, model=SIZES["luke-base"])
  assert 1 < rules._number_of_lengths(large, lengths, 10) <= rules.MOST_LENGTHS


@pytest.mark.parametrize("batch", [4, 64])
def test_scoring_takes_a_tenth_of_the_time_unless_told(start, batch):
  chosen = made(start, f"data.batch_size={batch}")
  train, dev = (len(chosen.engine.records(chosen.backbone, x)) for x in ("train", "dev"))
  steps = total_steps(chosen.run, train, batch)
  often = -(-steps // chosen.run.evaluate_every)
  assert often == 1 or often * dev / 3 <= 0.1 * steps * batch
  assert made(start, "run.evaluate_every=7").run.evaluate_every == 7


@pytest.mark.parametrize("run", [(), ("run.minutes=0.5",)])
def test_a_sample_of_a_large_dev_chooses_the_checkpoint(start, tmp_path, monkeypatch, run):
  monkeypatch.setattr(rules, "_seconds_of_word", lambda _: 4e-4)
  rows = [{"text": f"{i} Ana .", "label": "ab"[i % 2]} for i in range(900)]
  train, dev = (written(tmp_path / f"{len(x)}.jsonl", x) for x in (rows[:200], rows[200:]))
  settings = ["task.fit_head=false", "data.lengths=1", *run]
  chosen = task_experiment("classification", (train, dev), Path(start), settings)
  sample, whole = (chosen.engine.records(chosen.backbone, x) for x in ("sample", "dev"))
  steps = total_steps(chosen.run, 200, chosen.data.batch_size)
  often = -(-steps // chosen.run.evaluate_every)
  assert len(whole) == 700 and often > 1 and len(sample.examples) >= rules.LEAST_SAMPLE
  assert often * len(sample) / 3 <= 0.1 * steps * chosen.data.batch_size
  assert {x.id for x in sample.examples} < {x.id for x in whole.examples}
  assert [sample.examples[row.example].id for row in sample.rows] == [x.id for x in sample.examples]
  said = outline(chosen)
  assert f"{len(sample.examples)} of 700 of dev" in said and "all of dev once, at the end" in said


def test_a_dev_of_few_examples_chooses_no_checkpoint(start, tmp_path):
  train, lines = sample_file("typing", "train"), Path(sample_file("typing", "dev")).read_text()
  for number in (rules.LEAST_DEV - 1, rules.LEAST_DEV):
    dev = tmp_path / f"{number}.jsonl"
    dev.write_text("".join(lines.splitlines(keepends=True)[:number]))
    chosen = task_experiment("typing", (train, dev), Path(start), ["task.fit_head=false"])
    once = "of dev once, at the end" in outline(chosen)
    assert once == (number < rules.LEAST_DEV) == ("is kept" not in outline(chosen))


def test_a_file_without_examples_is_told_of(start, tmp_path):
  empty = tmp_path / "a.jsonl"
  empty.touch()
  with pytest.raises(InputError, match=r"a.jsonl: no examples; expected one at least"):
    task_experiment("typing", (empty, None), Path(start), [])


def test_held_out_examples_that_train_too_are_told_of(start, tmp_path):
  rows = [{"text": f"{i % 9} Ana .", "label": "ab"[i % 2]} for i in range(90)]
  file = written(tmp_path / "train.jsonl", rows)
  chosen = task_experiment("classification", (file, None), Path(start), ["task.fit_head=false"])
  assert "examples of dev are trained on too: its scores are too high" in outline(chosen)


@pytest.mark.parametrize(("config", "form"), [(None, NamedEntities), (BertConfig(), Tagging)])
def test_names_are_spans_where_there_are_entity_tokens_and_else_tags(config, form):
  base = backbone() if config is None else backbone(config)
  assert in_form(NamedEntities, base, ["run.seed=1"]) == (form, ["run.seed=1"])
  for given, kind in (("spans", NamedEntities), ("tags", Tagging)):
    assert in_form(NamedEntities, base, [f"task.form={given}"]) == (kind, [])
  with pytest.raises(InputError, match=r"task.form: 'span'; expected one of spans, tags"):
    in_form(NamedEntities, base, ["task.form=span"])
  with pytest.raises(InputError, match=r"task.span_words: a setting of spans, .* task.form=spans"):
    in_form(NamedEntities, base, ["task.form=tags", "task.span_words=3"])
  with pytest.raises(InputError, match=r"task.form: 'tags'; expected none for tagging"):
    in_form(Tagging, base, ["task.form=tags"])


def test_rows_of_independent_candidates_have_room_for_those_of_the_data(start):
  files = sample_file("ner", "train"), sample_file("ner", "dev")
  given = "model.independent_entities=true"
  chosen = task_experiment("ner", files, Path(start), [given]).task
  rows = chosen.engine().records(
    backbone(dataclasses.replace(SIZES["tiny"], independent_entities=True)), "train"
  )
  most = max(len(row.entity_ids) for row in rows.rows)
  assert 128 < most <= chosen.entities < most + 64
  assert (
    chosen.words == chosen.window
  )  # where the paper's rows have all the words around a sentence
  fewer = task_experiment("ner", files, Path(start), [given, "task.entities=32"]).task
  assert fewer.entities == 32
  assert task_experiment("ner", files, Path(start), []).task.entities == 128


def texts(folder, number):
  values = [{"text": f"{i} Ana saw Bo .", "label": "ab"[i % 2]} for i in range(number)]
  task = TextClassification(text=TEXT, labels=("a", "b"), words=16, held_out=0.1)
  return dataclasses.replace(task, train=str(written(folder / f"{number}.jsonl", values)))


def test_a_tenth_is_held_out_where_there_is_no_dev(tmp_path):
  task = texts(tmp_path, 40)
  halves = [task.engine().records(backbone(), split).examples for split in ("train", "dev")]
  ids = [{example.id for example in half} for half in halves]
  assert [len(half) for half in ids] == [36, 4] and not ids[0] & ids[1]
  more = texts(tmp_path, 60)
  assert len(ids[1] & {x.id for x in more.engine().records(backbone(), "dev").examples}) >= 2
  half = dataclasses.replace(more, held_out=0.5)
  assert len(half.engine().records(backbone(), "dev").examples) == 30
  with pytest.raises(InputError, match=r"4 examples with answers, none of them held out .* --dev"):
    texts(tmp_path, 4).engine().records(backbone(), "dev")
  whole = dataclasses.replace(task, held_out=0.0)
  assert len(whole.engine().records(backbone(), "train").examples) == 40
  most = dataclasses.replace(task, held_out=0.99)
  assert len(most.engine().records(backbone(), "train").examples) == 1
  with pytest.raises(InputError, match=r"task.dev: empty; expected a file of examples"):
    whole.engine().records(backbone(), "dev")
  with pytest.raises(InputError, match=r"held_out: 1.0; expected a share below 1"):
    dataclasses.replace(task, held_out=1.0)


def test_an_outline_says_what_will_be_done(start, monkeypatch):
  chosen = made(start, dev=False)
  lines = dict(line.split(maxsplit=1) for line in outline(chosen).splitlines())
  file, dev = sample_file("typing", "train"), chosen.engine.records(chosen.backbone, "dev")
  assert lines["task"] == "typing, with a LUKE"
  assert lines["dev"] == f"{len(dev.examples)}: 10% held out of {file}"
  assert lines["labels"].startswith(f"{len(chosen.task.labels)}: ")
  assert lines["training"].endswith("rate 0.0005") and "padding" in lines["rows"]
  assert "repeated" not in lines
  timed = made(start, "run.minutes=5", f"task.dev={file}")
  said = outline(timed)
  assert (
    f"repeated  {len(timed.engine.records(timed.backbone, 'dev').examples):,} examples of dev"
    in said
  )
  assert "5 minutes in all, steps of 16 rows" in said and "of dev in a tenth of the time" in said
  assert "untold" not in said
  monkeypatch.setattr("luke_jax.runs.outline.TOO_FEW_IN_DEV", 1000)
  assert "in dev: it does not tell how well these are found" in outline(timed)


def test_a_label_that_dev_alone_has_is_told_of_and_refuses_nothing(start, tmp_path):
  dev = tmp_path / "dev.jsonl"
  unseen = {"text": "Ana met Bela.", "span": [0, 3], "labels": ["stranger"]}
  dev.write_text(json.dumps(unseen) + "\n")
  train = sample_file("typing", "train")
  chosen = task_experiment("typing", (train, dev), Path(start), [])
  assert "stranger" in chosen.task.labels
  assert "stranger 0: with less than 10" in outline(chosen)
  given = ["task.labels=place,person"]
  with pytest.raises(InputError, match="not among the model's 2"):
    task_experiment("typing", (train, dev), Path(start), given)


def test_a_model_that_tags_is_one_that_finds_names():
  task = Tagging(text=TEXT, labels=("O", "B-LOC", "I-LOC"), words=16, crf=True)
  model = random_bert(task)
  assert isinstance(task_of(model, "ner"), Tagging) and isinstance(task_of(model), Tagging)
  promise, _ = Service({"own": model}, Limits(), page=True).predict({"text": "Ana saw Bo ."})
  (found,) = promise.result(timeout=60)
  expected = [span.text for span in model.predict("Ana saw Bo .")]
  assert [x["text"] for x in found["spans"]] == expected


def test_a_form_that_is_none_is_refused_from_python(start):
  with pytest.raises(InputError, match=r"task.form: 'span'; expected one of spans, tags"):
    luke_jax.fine_tune("ner", start, train=[], form="span")
