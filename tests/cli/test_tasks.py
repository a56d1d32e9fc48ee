"""Each of the tasks from the command line: train, evaluate, predict, score."""

import dataclasses
import hashlib
import io
import json
import os
import re
import sys
import types
from pathlib import Path

import jax
import numpy as np
import pytest
from sample_models import ROOT, sample_file, save_start
from tiny import tiny_model

import luke_jax
from luke_jax.cli import main
from luke_jax.cli import train as train_command
from luke_jax.cli.predict import announced
from luke_jax.errors import InputError
from luke_jax.formats.files import Faults
from luke_jax.formats.records import sources_of
from luke_jax.models.table import SIZES
from luke_jax.runs.recipes import consistent, task_experiment
from luke_jax.tasks.evaluation import Evaluation
from luke_jax.tasks.known import CLASSES, task_class
from luke_jax.tasks.predictions import Span
from luke_jax.tasks.running import read_examples
from luke_jax.training import directory
from luke_jax.training.experiment import Experiment
from luke_jax.training.experiment_files import load_experiment
from luke_jax.training.overrides import override

# What makes a training two steps of one program.
SHORT = ["run.steps=2", "run.evaluate_every=null", "data.batch_size=4"]
SHORT += ["data.lengths=1", "task.fit_head=false"]
SMALL = {"ner": ["task.words=64"], "cloze": ["task.words=128", "task.entities=32"]}
SMALL["tagging"] = ["task.words=64", "task.crf=true"]
SMALL["qa"] = ["task.words=96", "task.entities=16"]
FEW = 12
ENOUGH = 200  # examples to train on, among which are all labels
PRETRAINING = str(ROOT / "experiments/pretraining.py:tiny")


def last_line(capsys):
  return json.loads(capsys.readouterr().out.splitlines()[-1])


def few(task, split, folder, count=FEW):
  """The first lines of a sample file, for what takes long with all of them."""
  path = folder / f"{task}-{split}.jsonl"
  lines = sample_file(task, split).read_text(encoding="utf-8").splitlines(keepends=True)
  path.write_text("".join(lines[:count]), encoding="utf-8")
  return str(path)


@pytest.fixture(scope="module")
def start(tmp_path_factory):
  return str(save_start(tmp_path_factory.mktemp("start") / "luke"))


def train(task, start, folder, *changes):
  files = ["--train", few(task, "train", folder, ENOUGH), "--dev", few(task, "dev", folder)]
  changed = [word for text in (*SHORT, *SMALL.get(task, ()), *changes) for word in ("--set", text)]
  output = ["--model", start, "--output", str(folder / "run")]
  return main(["train", task, *files, *output, *changed])


@pytest.mark.parametrize(
  "task",
  [
    pytest.param(x, marks=() if x == "typing" else pytest.mark.slow)
    for x in CLASSES
    # Which need knowledge, and a start that reads labels: test_linking.py, test_labels.py.
    if x not in ("linking", "labels")
  ],
)
def test_a_task_from_files_to_scores(task, start, tmp_path, one_device, capsys, monkeypatch):
  assert train(task, start, tmp_path) == 0
  printed = capsys.readouterr().out.splitlines()
  assert json.loads(printed[-1])["model"] == str(tmp_path / "run" / "model")
  assert any("report.html" in line for line in printed)
  assert any("with texts of your own: luke-jax try" in line for line in printed)
  assert "</html>" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
  card = (tmp_path / "run" / "model" / "README.md").read_text(encoding="utf-8")
  trained_on = tmp_path / f"{task}-train.jsonl"
  digest = hashlib.sha256(trained_on.read_bytes()).hexdigest()
  assert re.search(rf"^\| train \| {trained_on.name} \| [\d,]+ \| `{digest}` \|$", card, re.M)
  assert f"| task | {task} |" in card and "| `run.steps` | `2` |" in card
  assert "model-index:" in card and str(tmp_path) not in card
  test, run = few(task, "test", tmp_path), str(tmp_path / "run")
  page, whole, predicted = (str(tmp_path / name) for name in ("p.html", "e.json", "p.jsonl"))
  assert main(["evaluate", task, run, test, "--html", page, "--json", whole]) == 0
  scores = last_line(capsys)
  assert scores["examples"] == FEW
  assert "</html>" in (tmp_path / "p.html").read_text(encoding="utf-8")
  found = json.loads((tmp_path / "e.json").read_text())
  assert found["scores"].keys() <= scores.keys()
  assert json.loads(json.dumps(Evaluation.from_json(found).as_json())) == found

  assert main(["predict", task, run, test, "--output", predicted]) == 0
  assert capsys.readouterr().out.endswith(f"{predicted}: {FEW} predictions\n")
  lines = (tmp_path / "p.jsonl").read_text(encoding="utf-8").splitlines()
  assert len(lines) == FEW
  assert main(["score", task, "--gold", test, "--predictions", predicted]) == 0
  again = last_line(capsys)
  common = scores.keys() & again.keys() - {"examples"}
  assert common and all(again[name] == pytest.approx(scores[name], abs=1e-4) for name in common)

  onnx = ["--onnx", "--int8", "--check", test, "--most-lost", "100"]
  assert main(["export-program", run, "--output", str(tmp_path / "onnx"), *onnx]) == 0
  out, err = capsys.readouterr()
  name, before = re.search(r"bytes; (\w+) ([\d.]+) in 32 bits, .*, on 12 examples", out).groups()
  assert float(before) == pytest.approx(scores[name], abs=1e-3) and "expected 100 or more" in err

  monkeypatch.setattr("sys.stdin", io.StringIO(Path(test).read_text("utf-8")))
  assert main(["predict", task, run]) == 0
  printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
  assert [x["id"] for x in printed] == [json.loads(line)["id"] for line in lines]


@pytest.mark.slow
def test_a_model_trained_by_adapters_is_a_plain_one(start, tmp_path, one_device, capsys):
  rate = "optimizer.learning_rate=0.01"
  assert train("typing", start, tmp_path, "optimizer.adapter=4", rate) == 0
  summary = last_line(capsys)
  run = str(tmp_path / "run")
  assert main(["evaluate", "typing", run, few("typing", "dev", tmp_path)]) == 0
  assert last_line(capsys)["f1"] == pytest.approx(summary["dev/f1"], abs=1e-4)
  before, after = (luke_jax.load(path) for path in (start, tmp_path / "run" / "model"))
  shapes = [x.shape for x in jax.tree.leaves(after.params["luke"]["encoder"])]
  assert shapes == [x.shape for x in jax.tree.leaves(before.params["luke"]["encoder"])]
  up = [x.params["luke"]["encoder"]["layers"]["mlp"]["up"]["kernel"] for x in (before, after)]
  assert np.linalg.matrix_rank(up[1][0] - up[0][0], tol=1e-4) == 4


def test_the_same_command_goes_on_and_labels_stay(start, tmp_path, one_device, capsys):
  assert train("typing", start, tmp_path) == 0
  assert train("typing", start, tmp_path) == 0
  assert last_line(capsys)["step"] == 2
  model = luke_jax.load(tmp_path / "run" / "model")
  found = model.predict("Vessa Orlandine moved to Castrel.", span=(25, 32))
  assert found.logits.keys() == set(model.labels)
  assert train("typing", start, tmp_path, "run.seed=7") == 2
  assert "holds another run" in capsys.readouterr().err


@pytest.mark.slow
def test_the_folder_of_a_run_is_where_another_can_start(start, tmp_path, one_device):
  assert train("relations", start, tmp_path) == 0
  (tmp_path / "next").mkdir()
  assert train("typing", str(tmp_path / "run"), tmp_path / "next") == 0


@pytest.mark.slow
def test_the_summary_tells_the_scores_of_the_model_that_was_written(
  start, tmp_path, one_device, capsys
):
  changes = ("run.steps=6", "run.evaluate_every=1", "optimizer.learning_rate=3e-2", "run.seed=3")
  assert train("typing", start, tmp_path, *changes) == 0
  summary = last_line(capsys)
  lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
  by_step = {x["step"]: x["dev/f1"] for x in map(json.loads, lines) if "dev/f1" in x}
  assert summary["dev/f1"] == pytest.approx(max(by_step.values()), abs=1e-4)
  assert by_step[summary["model_step"]] == max(by_step.values())
  assert len(set(by_step.values())) > 1


def test_faults_of_the_dev_file_show_before_the_first_step(start, tmp_path, one_device, capsys):
  bad = tmp_path / "bad.jsonl"
  for labels, fault in {', "labels": "city"': "labels: 'city'", "": "labels: missing"}.items():
    bad.write_text(f'{{"text": "Castrel is a city.", "span": [0, 7]{labels}}}\n')
    assert train("typing", start, tmp_path, f"task.dev={bad}") == 2
    assert f"bad.jsonl: line 1: {fault}" in capsys.readouterr().err
    assert not (tmp_path / "run" / "metrics.jsonl").exists()
  assert train("typing", start, tmp_path) == 0  # in the same folder


def test_a_start_that_means_something_else_by_its_ids(start, tmp_path, one_device, capsys):
  tiny_model().save(tmp_path / "other")
  assert train("typing", start, tmp_path, f"run.start={tmp_path / 'other'}") == 2
  assert f"other: another tokenizer than {start}; expected task.text's" in capsys.readouterr().err
  other = luke_jax.load(start)
  ids = dict(other.processor.entity_vocab.ids)
  ids["Ostmere"] = ids.pop("Castrel")
  vocab = dataclasses.replace(other.processor.entity_vocab, ids=ids)
  processor = dataclasses.replace(other.processor, entity_vocab=vocab)
  dataclasses.replace(other, processor=processor).save(tmp_path / "renamed")
  changed = f"run.start={tmp_path / 'renamed'}"
  assert train("qa", start, tmp_path, changed) == 2  # which reads entities by their titles
  assert f"renamed: other entities than {start}; expected task.text's" in capsys.readouterr().err


def test_a_file_that_changed_between_two_commands_is_read_again(start, tmp_path):
  dev = Path(few("typing", "dev", tmp_path))
  chosen = task_experiment("typing", (sample_file("typing", "train"), dev), Path(start), [])
  assert len(chosen.engine.records(chosen.backbone, "dev").examples) == FEW
  dev.write_text("".join(dev.read_text("utf-8").splitlines(keepends=True)[:5]), "utf-8")
  assert main(["data", "check", str(dev), "--task", "typing"]) == 0
  assert len(chosen.engine.records(chosen.backbone, "dev").examples) == 5


def test_a_batch_larger_than_memory_is_one_line(start, tmp_path, one_device, capsys):
  assert train("typing", start, tmp_path, "data.batch_size=99999999999") == 2
  assert "expected less of it" in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.slow
def test_a_model_without_entities(start, tmp_path, one_device, capsys):
  assert train("typing", start, tmp_path, "model.entity_vocab_size=0") == 0
  model = luke_jax.load(tmp_path / "run" / "model")
  assert not model.config.entity_vocab_size
  model.predict("Castrel is a city.", span=(0, 7))
  test = few("typing", "test", tmp_path)
  assert main(["evaluate", "typing", str(tmp_path / "run"), test]) == 0


@pytest.mark.slow
def test_a_model_pretrained_with_the_original_attention_is_fine_tuned_with_four_queries(
  start, tmp_path, one_device
):
  model = luke_jax.load(start)
  config = dataclasses.replace(model.config, use_entity_aware_attention=False)
  params = jax.tree.map(lambda x: x, model.params)
  for layer in params["luke"]["encoder"].values():
    query = layer["attention"]["query"]
    query.update({name: x[:, :1, :1] for name, x in query.items()})
  before = str(tmp_path / "original")
  model.with_config(config, params).save(before)
  assert not luke_jax.load(before).config.use_entity_aware_attention
  assert train("typing", before, tmp_path) == 0
  assert luke_jax.load(tmp_path / "run" / "model").config.use_entity_aware_attention
  (tmp_path / "two").mkdir()
  assert train("typing", before, tmp_path / "two", "model.use_entity_aware_attention=false") == 0
  kept = luke_jax.load(tmp_path / "two" / "run" / "model")
  assert not kept.config.use_entity_aware_attention


@pytest.mark.parametrize(
  ("arguments", "fault"),
  [
    (["train", "ner", "--output", "x"], "--train: missing; expected it"),
    (["train", "nerd", "--train", "a", "--output", "x"], "nerd: no such file"),
    (
      ["train", __file__, "--train", "a", "--model", "m", "--output", "x"],
      "none; expected one class",
    ),
    (["evaluate", "ner", "no-such-model", "x.jsonl"], "no-such-model: no such file or directory"),
    (["evaluate", "ne", "a", "b"], "ne"),
    (["score", "qa", "--gold", "none.json", "--predictions", "b"], "none.json: no such file"),
    (["predict", "typing", "START", "none.jsonl"], "expected a LukeForEntityClassification"),
    (["predict", "typing", "START", "--mentions", "x"], "only qa reads such a folder"),
    (["predict", "typing", "START", "--output", "no/x.jsonl"], "no folder no; expected one"),
    (["evaluate", "typing", "START", "x", "--html", "no/x.html"], "no folder no; expected one"),
    (["train", "README.md", "--output", "x"], "README.md: no such file"),
    (["data", "check", "none.jsonl", "--task", "ner"], "none.jsonl: no such file"),
  ],
)
def test_bad_input(arguments, fault, start, tmp_path, monkeypatch, capsys):
  monkeypatch.chdir(tmp_path)
  assert main([start if word == "START" else word for word in arguments]) == 2
  told = capsys.readouterr().err
  assert fault in told and told.count("\n") == 1


@pytest.mark.parametrize(
  ("arguments", "fault"),
  [
    (["predict", "typing", "MODEL", "."], "--output: missing; expected a folder for the shards"),
    (["predict", "typing", "MODEL", " "], "no text; expected a file of examples"),
    (["predict", "typing", "MODEL", "Ana lives."], "a text alone; expected an object of JSON"),
    (["predict", "typing", "MODEL", "no.jsonl"], "no.jsonl: no such file"),
    (["predict", "typing", "MODEL", "x", "--output", "p.conll"], "p.conll; expected another name"),
    (["predict", "typing", "RUN", "Ana"], "a run without model; expected one that is done"),
    (["evaluate", "typing", "MODEL", "x", "--mentions", "m"], "only qa reads such a folder"),
    (["evaluate", "qa", "QA", "qa.jsonl", "--mentions", "m"], "m/mentions: no table of mentions"),
    (["predict", PRETRAINING, "MODEL", "Ana"], "Pretraining is no TextTask; expected one"),
    (["predict", "ner", "MODEL", "Ana"], "expected a LukeForEntitySpanClassification"),
  ],
)
def test_what_cannot_be_predicted(arguments, fault, tmp_path, monkeypatch, capsys):
  monkeypatch.chdir(tmp_path)
  tiny_model("LukeForEntityClassification").save(tmp_path / "MODEL")
  tiny_model("LukeForQuestionAnswering").save(tmp_path / "QA")
  asked = {"text": "Ana lives.", "question": "Who?", "answers": [[0, 3]]}
  (tmp_path / "qa.jsonl").write_text(json.dumps(asked))
  (tmp_path / "RUN" / "checkpoints").mkdir(parents=True)
  (tmp_path / "RUN" / "config.json").write_text("{}")
  assert main(arguments) == 2
  told = capsys.readouterr().err
  assert fault in told and told.count("\n") == 1
  with pytest.raises(InputError, match="RUN: the folder of a run; expected a model's, such as RUN"):
    luke_jax.load("RUN")


@pytest.mark.filterwarnings("always:1 of 1 entities cannot be found")
def test_a_long_text_and_one_through_a_pipe(tmp_path, capsys):
  tiny_model("LukeForEntitySpanClassification").save(tmp_path)
  read, write = os.pipe()
  os.write(write, b"Ana saw Tokyo\nIt rained\n")
  os.close(write)
  assert main(["predict", "ner", str(tmp_path), f"/dev/fd/{read}"]) == 0
  assert len(capsys.readouterr().out.splitlines()) == 2
  os.close(read)
  assert main(["predict", "ner", str(tmp_path), "Ana saw Tokyo . " * 20]) == 0
  assert len(capsys.readouterr().out.splitlines()) == 1


@pytest.mark.filterwarnings("always:1 of 1 entities cannot be found")
def test_named_entities_in_columns(tmp_path, capsys):
  model, gold, predicted = (str(tmp_path / name) for name in ("model", "g.conll", "p.conll"))
  tiny_model("LukeForEntitySpanClassification").save(model)
  Path(gold).write_text("Ana O\nsaw O\nTokyo B-place\n\nIt O\nrained O\n", "utf-8")
  assert main(["predict", "ner", model, gold, "--output", predicted]) == 0
  given, found = (Path(file).read_text("utf-8").splitlines() for file in (gold, predicted))
  assert [line.split()[:2] for line in found] == [*(line.split() for line in given), []]
  assert main(["score", "ner", "--gold", gold, "--predictions", predicted]) == 0
  score = last_line(capsys)
  assert main(["predict", "ner", model, gold, "--output", str(tmp_path / "p.jsonl")]) == 0
  assert main(["score", "ner", "--gold", gold, "--predictions", str(tmp_path / "p.jsonl")]) == 0
  again = last_line(capsys)
  assert all(again[name] == score[name] for name in ("precision", "recall", "f1"))
  assert main(["predict", "ner", model, gold, "--output", str(tmp_path / "p.html")]) == 0
  page = (tmp_path / "p.html").read_text("utf-8")
  assert page.count('class="marked"') == 2 and "rained" in page and page.endswith("</html>\n")
  objects = '{"text": "Anabel", "spans": [[0, 3, "place"]]}\n{"text": "It rained ."}\n'
  (tmp_path / "o.jsonl").write_text(objects)  # known tags that columns cannot say
  assert main(["predict", "ner", model, str(tmp_path / "o.jsonl"), "--output", predicted]) == 0
  lines = Path(predicted).read_text("utf-8").splitlines()
  assert [line.split()[0] for line in lines if line] == ["Anabel", "It", "rained", "."]
  assert all(len(line.split()) == 2 for line in lines if line)


def test_names_with_labels_that_the_file_never_has(tmp_path, monkeypatch, capsys):
  model, gold = str(tmp_path / "model"), str(tmp_path / "g.jsonl")
  tiny_model("LukeForEntitySpanClassification").save(model)
  Path(gold).write_text('{"text": "Ana saw Tokyo .", "spans": [[8, 13, "place"]]}\n')
  found = [Span("Ana", 0, 3, "person", 0.9), Span("Tokyo", 8, 13, "place", 0.9)]
  monkeypatch.setattr(
    "luke_jax.cli.evaluate.predictions", lambda *_, **__: [(None, found) for _ in range(1)]
  )
  assert main(["evaluate", "ner", model, gold]) == 0
  told = capsys.readouterr()
  assert "the file never has count as mistakes: person 1; --only-labels-of-gold" in told.err
  assert json.loads(told.out.splitlines()[-1])["precision"] == 0.5
  assert main(["evaluate", "ner", model, gold, "--only-labels-of-gold"]) == 0
  told = capsys.readouterr()
  assert "left out: names with labels that the file never has: person 1" in told.err
  assert json.loads(told.out.splitlines()[-1])["f1"] == 1


@pytest.mark.filterwarnings("always:.*read as")
def test_numbered_lines_and_tags_of_no_scheme(tmp_path, capsys):
  model, gold, predicted = (str(tmp_path / name) for name in ("model", "g.conll", "p.conll"))
  tiny_model("LukeForEntitySpanClassification").save(model)
  Path(gold).write_text("0\tAna\tO\n1\tsaw\tO\n2\tTokyo\tB-place\n\n0\tBerlin\tI-place\n")
  command = ["predict", "ner", model, gold, "--output", predicted]
  assert main(command) == 2
  assert "line 5: tag 'I-place'" in capsys.readouterr().err
  assert main([*command, "--repair-tags"]) == 0
  told = capsys.readouterr().err
  assert "column 2 is read as words, since column 1 numbers the lines" in told
  assert "tags read as conlleval reads them: 1, the first in line 5" in told
  words = [line.split()[0] for line in Path(predicted).read_text("utf-8").splitlines() if line]
  assert words == ["Ana", "saw", "Tokyo", "Berlin"]
  columns = ["--columns", "_,word,_"]
  assert main([*command, *columns]) == 0
  assert "column" not in capsys.readouterr().err
  assert len(Path(predicted).read_text("utf-8").splitlines()[0].split()) == 2  # no gold tags
  assert main(["evaluate", "ner", model, gold, *columns]) == 2
  assert "no spans; expected those of the entities, or tags" in capsys.readouterr().err
  scored = ["--gold", gold, "--predictions", predicted, "--repair-tags"]
  assert main(["score", "ner", *scored]) == 0


@pytest.mark.filterwarnings("always:2 of 2 entities cannot be found")
def test_a_training_file_from_which_nothing_can_be_learnt(start, tmp_path, one_device, capsys):
  bad = tmp_path / "bad.jsonl"
  bad.write_text(json.dumps({"text": "Johnson lives.", "spans": [[0, 4, "PER"], [7, 8, "PER"]]}))
  files = ["--train", str(bad), "--dev", str(bad), "--model", start]
  assert main(["train", "ner", *files, "--output", str(tmp_path / "run")]) == 2
  assert capsys.readouterr().err.splitlines()[-1] == (
    f"luke-jax: {bad}: none of its 2 entities can be found; expected whole words of a sentence:"
    f" luke-jax data check {bad} --task ner says what is wrong"
  )
  assert not (tmp_path / "run" / "metrics.jsonl").exists()


def test_standard_input_that_is_no_text(tmp_path, monkeypatch, capsys):
  model = str(tmp_path / "model")
  tiny_model("LukeForEntityClassification").save(model)
  monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff\xfe"), encoding="ascii"))
  assert main(["predict", "typing", model]) == 2
  assert "standard input: line 1: byte 0xff is not UTF-8; expected" in capsys.readouterr().err


def test_texts_among_objects_are_faults_of_their_lines(tmp_path, monkeypatch, capsys):
  model = str(tmp_path / "model")
  tiny_model("LukeForEntityClassification").save(model)
  lines = 'Ana lives here.\n\n{"text": "Ana", "span": [0, 3]}\n'
  monkeypatch.setattr("sys.stdin", io.StringIO(lines))
  assert main(["predict", "typing", model]) == 2
  assert "standard input: line 1: a text alone; expected an object" in capsys.readouterr().err
  monkeypatch.setattr("sys.stdin", io.StringIO(lines))
  assert main(["predict", "typing", model, "--skip-bad"]) == 0
  told = capsys.readouterr()
  assert "left out: standard input: line 1" in told.err and len(told.out.splitlines()) == 1


def test_an_experiment_told_to_have_no_entities_loses_what_only_they_have():
  read = load_experiment(ROOT / "experiments/qa.py:luke-large")
  chosen = consistent(override(read, ["model.entity_vocab_size=0"]))
  assert not chosen.model.use_entity_aware_attention
  assert not any("entity_embeddings" in path for path in chosen.optimizer.frozen)
  assert consistent(read) == read


def test_a_system_that_predicted_nothing_has_no_score(tmp_path, capsys):
  gold = few("typing", "dev", tmp_path)
  (tmp_path / "none.jsonl").write_text("\n")
  files = ["--gold", gold, "--predictions", str(tmp_path / "none.jsonl")]
  assert main(["score", "typing", *files]) == 2
  assert "none.jsonl: no predictions; expected one for each" in capsys.readouterr().err
  first = json.loads(Path(gold).read_text(encoding="utf-8").splitlines()[0])
  (tmp_path / "none.jsonl").write_text(json.dumps({"id": first.get("id", "1"), "labels": []}))
  assert main(["score", "typing", *files]) == 0
  told = last_line(capsys)
  assert (told["predictions"], told["examples"]) == (1, FEW)


def test_a_label_that_training_never_saw_counts_as_missed(start, tmp_path, one_device, capsys):
  assert train("typing", start, tmp_path) == 0
  line = {"text": "Castrel is a city.", "span": [0, 7], "labels": ["castle"]}
  none = {"text": "Castrel is a city.", "span": [0, 7], "labels": []}
  path = tmp_path / "odd.jsonl"
  path.write_text(f"{json.dumps(line)}\n{json.dumps(none)}\n")
  capsys.readouterr()
  assert main(["evaluate", "typing", str(tmp_path / "run"), str(path)]) == 0
  told = capsys.readouterr()
  assert told.err.endswith("labels that the model does not know count as missed: castle 1\n")
  assert '"examples": 2' in told.out and '"recall": 0.0' in told.out
  path.write_text(json.dumps({"text": line["text"], "span": [0, 7]}))
  assert main(["evaluate", "typing", str(tmp_path / "run"), str(path)]) == 2
  assert capsys.readouterr().err.endswith("; --skip-bad leaves such examples out\n")


def test_several_files_and_what_is_piped_are_trained_on(tmp_path, monkeypatch):
  for name in "ab":
    text = f"Ana met {name.upper()} ."
    (tmp_path / f"{name}.jsonl").write_text(json.dumps({"text": text, "spans": []}) + "\n")
  several = train_command._examples((tmp_path / "a.jsonl", tmp_path / "b.jsonl"), tmp_path)
  assert sources_of(several) == (str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl"))
  examples = read_examples(task_class("ner")(), several, Faults())
  assert [x.text for x in examples] == ["Ana met A .", "Ana met B ."]
  monkeypatch.setattr(sys, "stdin", io.StringIO('{"text": "piped"}\n'))
  piped = train_command._examples((Path("-"),), tmp_path / "run")
  assert Path(piped).read_text() == '{"text": "piped"}\n'
  monkeypatch.setattr(sys, "stdin", io.StringIO(""))
  assert (
    train_command._examples((Path("-"),), tmp_path / "run") == piped
  )  # the same command goes on
  with pytest.raises(InputError, match="nothing was piped in"):
    train_command._examples((Path("-"),), tmp_path / "other")
  task = task_class("typing")(train=piped)
  directory.prepare(tmp_path / "run", Experiment(SIZES["tiny"], task), {})  # as a new folder
  monkeypatch.setattr(sys, "stdin", io.StringIO('{"text": "other"}\n'))
  with pytest.raises(InputError, match="other examples than"):
    train_command._examples((Path("-"),), tmp_path / "run")


@pytest.mark.parametrize(
  ("text", "ending"),
  [
    ("Ana\tB-PER\nsings\tO\n", ".txt"),
    ('"Text";Label\na;b\n', ".csv"),
    ("sentence_id,word,tag\n", ".csv"),
    ("text\tlabel\na\tb\n", ".tsv"),
    ('[{"text": "a"}]', ".json"),
  ],
)
def test_what_is_piped_has_the_ending_of_its_form(text, ending):
  assert train_command._kind(text) == ending


def test_a_long_text_is_announced(capsys):
  texts = [types.SimpleNamespace(text="a" * length) for length in (9, 60_000)]
  assert list(announced(texts)) == texts
  assert capsys.readouterr().err == "reading 60,000 characters\n"
