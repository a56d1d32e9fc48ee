"""A linker from the command line: from texts to links, with entities of one's own."""

import contextlib
import importlib
import json
import re
import shutil
import sys
import types

import numpy as np
import pytest
from networks import backbone
from sample_models import ROOT, save_start

from luke_jax.cli import main
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.heads.linking import LinkingHead
from luke_jax.inference.settings import trained_model
from luke_jax.model import Model, load
from luke_jax.models.network import Network
from luke_jax.runs.starts import start_model
from luke_jax.serve.guard import Limits
from luke_jax.serve.service import Service
from luke_jax.show.marked import hue
from luke_jax.systems.bert import BertConfig
from luke_jax.tasks.linking.knowledge import Knowledge
from luke_jax.tasks.linking.task import EntityLinking

PAGES = {
  "Ana Ferrier": "Ana Ferrier was a painter.\nFerrier painted New Castrel. Ferrier lived long.",
  "Bo Ferrier": "Bo Ferrier was a sailor.\nFerrier sailed to New Castrel. Ferrier drank.",
  "New Castrel": "New Castrel is a harbour town.\nBo Ferrier left New Castrel.",
}
MODEL, TOKENIZER = str(ROOT / "data/sample_model"), str(ROOT / "data/sample_wiki/tokenizer")
OWN = {"name": "Nordvik", "description": "a firm", "aliases": ["Nordvik AS"], "id": "C-1"}


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
  """The tables of a few dozen pages, which differ in a number; the first is there twice."""
  folder = tmp_path_factory.mktemp("pages")
  lines = [
    json.dumps({"title": f"{title} {i}", "text": text.replace(title, f"{title} {i}")}) + "\n"
    for i in range(16)
    for title, text in PAGES.items()
  ]
  (folder / "texts.jsonl").write_text("".join([lines[0], *lines]))
  build = ["wiki", "build", str(folder / "texts.jsonl"), "--language", "en"]
  assert main([*build, "--tokenizer", TOKENIZER, "--output", str(folder / "build")]) == 0
  assert main(["wiki", "export", str(folder / "build"), "--output", str(folder / "tables")]) == 0
  return str(folder / "tables")


@pytest.fixture(scope="module")
def knowledge(tables, tmp_path_factory):
  folder = tmp_path_factory.mktemp("linker") / "knowledge"
  assert main(["entities", "describe", tables, "--model", MODEL, "--output", str(folder)]) == 0
  return folder


def last_line(capsys):
  return json.loads(capsys.readouterr().out.splitlines()[-1])


def test_knowledge_has_pages_names_and_examples(knowledge, tables, tmp_path, capsys):
  facts = json.loads((knowledge / "knowledge.json").read_text())
  assert facts["entities"] == 49 and facts["names"] >= 48
  train = [json.loads(line) for line in (knowledge / "train.jsonl").read_text().splitlines()]
  assert train and all(x["text"][s:e] in PAGES or t for x in train for s, e, t in x["mentions"])
  again = ["entities", "describe", tables, "--model", MODEL, "--output", str(knowledge)]
  assert main(again) == 2
  assert "knowledge is there already; expected another folder" in capsys.readouterr().err


def test_a_title_means_its_page_also_behind_one_that_is_there_twice(knowledge):
  known = Knowledge(Path(knowledge))
  for title in (f"{title} {i}" for title in PAGES for i in range(16)):
    (id, *_) = known.candidates(title).ids.tolist()
    assert id == known.id_of(title) and known.about(id).title == title


@pytest.mark.parametrize(
  ("lines", "fault"),
  [
    ([{"name": "New Castrel 3"}], "'New Castrel 3': an entity of"),
    ([{"name": " "}], "line 1: name: empty"),
    ([{"name": "A", "alias": ["B"]}], "line 1: alias: no such field; expected perhaps aliases"),
    ([{"name": "A", "aliases": [1]}], "line 1: aliases: [1]; expected a list of texts"),
    ([{"name": "A", "sentences": " "}], "line 1: sentences: ' '; expected a list"),
    ([{"name": "A"}, {"name": "A"}], "'A': twice; expected each id, or name without"),
    ([], "no entities; expected one on each line"),
  ],
)
def test_faulty_entities_of_ones_own_are_named(lines, fault, knowledge, tmp_path, capsys):
  (tmp_path / "own.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))
  own = ["entities", "own", str(knowledge), str(tmp_path / "own.jsonl"), "--model", MODEL]
  assert main([*own, "--output", str(tmp_path / "more")]) == 2
  assert fault in capsys.readouterr().err and not (tmp_path / "more").exists()


def test_an_entity_may_share_a_pages_title_if_it_has_an_id(knowledge, tmp_path):
  boat = {"name": "New Castrel 3", "description": "a boat"}
  lines = [boat | {"id": "C-1", "weight": 3}, boat | {"id": "C-2"}]
  (tmp_path / "own.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))
  own = ["entities", "own", str(knowledge), str(tmp_path / "own.jsonl"), "--model", MODEL]
  assert main([*own, "--output", str(tmp_path / "more")]) == 0
  more = Knowledge(Path(tmp_path / "more"))
  assert set(more.candidates("New Castrel 3").ids.tolist()) == {more.id_of("New Castrel 3"), 49, 50}
  assert (more.id_of("C-1"), more.id_of("C-2")) == (49, 50) and more.id_of("New Castrel 3") < 49
  assert more.about(50).item == "C-2"
  priors = dict(zip(*(x.tolist() for x in more.candidates("New Castrel 3")), strict=True))
  assert max(priors, key=priors.__getitem__) == 49 and priors[49] == pytest.approx(3 * priors[50])


def test_sentences_say_what_an_entity_is_beside_its_description(knowledge, tmp_path):
  lines = [
    {"name": "A", "description": "a firm"},
    {"name": "B", "sentences": ["A: a firm"]},
    {"name": "C", "sentences": ["D ships."]},
    {"name": "D", "description": "a firm", "sentences": ["D: a firm", "D ships."]},
  ]
  (tmp_path / "own.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))
  own = ["entities", "own", str(knowledge), str(tmp_path / "own.jsonl"), "--model", MODEL]
  assert main([*own, "--output", str(tmp_path / "more")]) == 0
  a, b, c, d = Knowledge(Path(tmp_path / "more")).vectors(np.arange(49, 53))
  np.testing.assert_allclose(a, b, atol=2e-3)
  assert d @ c > a @ c and np.linalg.norm(d) == pytest.approx(1, abs=2e-3)


def test_entities_of_ones_own_are_described_by_the_same_model(knowledge, tmp_path, capsys):
  (tmp_path / "own.jsonl").write_text(json.dumps(OWN))
  other = str(save_start(tmp_path / "other"))
  own = ["entities", "own", str(knowledge), str(tmp_path / "own.jsonl"), "--model", other]
  assert main([*own, "--output", str(tmp_path / "more")]) == 2
  assert "another model; expected the one that described" in capsys.readouterr().err
  assert not (tmp_path / "more").exists()


@pytest.mark.parametrize(
  ("width", "by", "fault"),
  [
    (16, "", r"width 64; expected knowledge .*, of width 16"),
    (64, "0" * 64, "described by another model than the linker's"),
    (64, "", None),
    (64, None, None),
  ],
)
def test_knowledge_by_another_model_than_the_linkers_is_refused(knowledge, width, by, fault):
  system = backbone(BertConfig())
  described_by = Knowledge(Path(knowledge)).described_by if by is None else by
  head = LinkingHead(system.numerics_of("linking"), width, described_by=described_by)
  model = types.SimpleNamespace(network=Network(system, head), backbone=system)
  refused = pytest.raises(InputError, match=fault) if fault else contextlib.nullcontext()
  with refused:
    EntityLinking(knowledge=str(knowledge)).check_head(model.network)


@pytest.mark.slow
def test_from_knowledge_to_links(knowledge, tmp_path, one_device, capsys):
  files = [str(knowledge / f"{split}.jsonl") for split in ("train", "train")]
  train = ["train", "linking", "--train", files[0], "--dev", files[1], "--model", MODEL]
  settings = ["run.epochs=1", "run.evaluate_every=null", f"task.knowledge={knowledge}"]
  run = str(tmp_path / "run")
  changes = [x for setting in settings for x in ("--set", setting)]
  assert main([*train, "--output", run, *changes]) == 0
  scores = last_line(capsys)
  assert scores["dev/recall_of_candidates"] == 1 and 0 <= scores["dev/accuracy"] <= 1
  text = "Ana Ferrier 3 met Nordvik AS."
  assert main(["link", run, text]) == 0
  before = last_line(capsys)["links"]
  assert [link[:4] for link in before] == [[0, 13, "Ana Ferrier 3", None]] or not before
  own, more = tmp_path / "own.jsonl", str(tmp_path / "more")
  own.write_text(json.dumps(OWN))
  add = ["entities", "own", str(knowledge), str(own), "--model", MODEL, "--output", more]
  assert main(add) == 0
  assert last_line(capsys)["entities"] == 50
  example = {"text": text, "mentions": [[0, 13], [18, 28]]}
  assert main(["link", run, json.dumps(example), "--knowledge", more]) == 0
  first, second = last_line(capsys)["links"]
  assert second[2] in ("Nordvik", None) and second[:2] == [18, 28]
  linker = load(f"{run}/model")
  again = linker.predict(text, mentions=example["mentions"], knowledge=more)
  assert [[x.start, x.end, x.title, x.item, round(x.score, 4)] for x in again] == [first, second]
  assert linker.predict(text, threshold=1.0) == []
  moved = tmp_path / "moved"  # with its knowledge, which it prefers to that of the training
  shutil.copytree(f"{run}/model", moved)
  shutil.copytree(more, moved / "knowledge")
  assert load(moved).predict(text, mentions=example["mentions"]) == again
  load(moved).save(tmp_path / "kept")
  shutil.rmtree(moved)
  load(tmp_path / "kept").save(tmp_path / "kept")  # over itself
  assert load(tmp_path / "kept").predict(text, mentions=example["mentions"]) == again
  linker.save(tmp_path / "kept")  # whose knowledge lies elsewhere
  assert not (tmp_path / "kept/knowledge").exists()
  theirs = tmp_path / "theirs/knowledge/thesis.txt"
  theirs.parent.mkdir(parents=True)
  theirs.write_text("mine")
  with pytest.raises(InputError, match="knowledge: no knowledge of a model; expected none"):
    linker.save(tmp_path / "theirs")
  assert [x.name for x in theirs.parent.iterdir()] == ["thesis.txt"]
  known = json.dumps({"text": text, "mentions": [[0, 13]]})
  assert main(["link", run, known]) == main(["link", run, known, "--knowledge", more]) == 0
  alone, beside = (json.loads(x)["links"] for x in capsys.readouterr().out.splitlines()[-2:])
  assert alone == beside  # what was known has the same score
  assert alone[0][:3] == first[:3]
  others = linker.predict(text, mentions=[[0, 13]])[0].others
  assert main(["link", run, known]) == 0
  assert last_line(capsys)["others"] == [[[*x[:2], round(x.score, 4)] for x in others]]
  gold = tmp_path / "gold.jsonl"
  example["mentions"] = [[0, 13, "Ana Ferrier 3"], [18, 28, None]]
  gold.write_text(json.dumps(example))
  evaluate = ["evaluate", "linking", run, str(gold), "--knowledge", more]
  assert main([*evaluate, "--find-names"]) == 0
  assert 0 <= last_line(capsys)["weak_f1"] <= 1
  assert main([*evaluate, "--precision", "0.9"]) == 0
  printed = capsys.readouterr().out.splitlines()
  evaluated = json.loads(printed[-1])
  assert "do not tell from which score 90% are right" in printed[-2]
  assert main(["export-program", run]) == 0
  assert "computes what the model does" in capsys.readouterr().out
  eight = ["--onnx", "--int8", "--check", files[1], "--most-lost", "100"]
  assert main(["export-program", run, *eight]) == 0
  assert re.search(r"accuracy [\d.]+ in 32 bits, [\d.]+ in 8 bits, on", capsys.readouterr().out)
  page = Service({"linker": linker}, Limits(), page=True)
  page.warmed.result(timeout=60)
  (shown,) = page.predict({"text": text})[0].result(timeout=60)
  assert all(x["hue"] == hue(x["title"] or "none") for x in shown)
  assert [[x["start"], x["end"], x["title"]] for x in shown] == [link[:3] for link in before]
  assert main(["link", run, text, "--threshold", "1"]) == 0
  assert last_line(capsys)["links"] == []
  predicted = str(tmp_path / "p.jsonl")
  assert main(["link", run, str(gold), "--knowledge", more, "--output", predicted]) == 0
  capsys.readouterr()
  assert main(["score", "linking", "--gold", str(gold), "--predictions", predicted]) == 0
  assert last_line(capsys)["accuracy"] == evaluated["accuracy"]
  assert Path(more).is_dir()


@pytest.mark.slow
def test_scripts_compare_heads_and_sentences(knowledge, tables, tmp_path, monkeypatch, capsys):
  start = save_start(tmp_path / "start")
  task = EntityLinking(knowledge=str(knowledge), text=str(start))
  parts = start_model(start, task, "special")
  Model.of(trained_model(task, parts.network, parts.params)).save(tmp_path / "linker")
  monkeypatch.syspath_prepend(str(ROOT / "experiments/linkers"))
  heads, sentences = map(importlib.import_module, ("fixed_states", "sentences"))
  linker = str(tmp_path / "linker")

  def lines(script, *arguments):
    monkeypatch.setattr(sys, "argv", ["script", linker, *arguments])
    script.main()
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

  paragraphs = importlib.import_module("first_paragraphs")
  described = str(tmp_path / "described")
  arguments = [tables, str(knowledge), described, "--described-by", MODEL]
  monkeypatch.setattr(sys, "argv", ["script", *arguments])
  paragraphs.main()
  assert "of 49 entities with sentences" in capsys.readouterr().out
  made = lines(heads, described, "--steps", "2", "--seeds", "1")
  assert {(x["head"], x["decided"]) for x in made} == {
    (name, order) for name, trial in heads.TRIALS.items() for order in trial.orders
  }
  monkeypatch.setattr(sentences, "COUNTS", (1,))
  few = shutil.copytree(knowledge, tmp_path / "few")
  for split, i in (("train", 2), ("dev", 3)):
    example = {"text": f"New Castrel {i} grew.", "mentions": [[0, 13, f"New Castrel {i}"]]}
    (few / f"{split}.jsonl").write_text(json.dumps(example))
  ways = lines(sentences, tables, str(few), "--described-by", MODEL)
  assert [x["described_by"] for x in ways] == [
    "description",
    "1 sentences",
    "description and 1 sentences",
    "description and first paragraph",
  ]
  assert all(x["entities"] == x["names"] == 1 and x["accuracy"] in (0, 1) for x in ways)
  (whole,) = lines(importlib.import_module("pages"), tables, "--words", "1")
  assert whole["pages"] and whole["names"] >= whole["pages"] and 0 <= whole["accuracy"] <= 1
