"""The sample tasks: their generator, and that what the files say is so in the sample world."""

import json
import re
import subprocess
import sys
from collections import Counter
from itertools import combinations, pairwise

import pytest

from data.sample_tasks.generate import FOLDER, SIZES
from data.sample_tasks.make_relations import NO_RELATION, RELATIONS
from data.sample_tasks.types import types_of
from data.sample_wiki.world import FOLDER as WIKI
from data.sample_wiki.world import TOLD, UNSEEN
from luke_jax.text import load_tokenizer

SPLITS = ("train", "dev", "test")
PRONOUNS = {"she": {"She", "Her"}, "he": {"He", "His"}}
FIELDS = {
  "typing": {"span", "labels"},
  "relations": {"head", "tail", "label"},
  "facts": {"names", "facts", "sentences"},
  "ner": {"sentences", "spans"},
  "cloze": {"query", "entities", "answers"},
  "qa": {"question", "entities", "question_entities", "answers"},
  "classification": {"label"},
}


def read(task: str, split: str) -> list[dict]:
  lines = (FOLDER / task / f"{split}.jsonl").read_text(encoding="utf-8").splitlines()
  return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def tasks() -> dict[str, dict[str, list[dict]]]:
  return {task: {split: read(task, split) for split in SPLITS} for task in SIZES}


@pytest.fixture(scope="module")
def questions(tasks) -> list[dict]:
  return [*everything(tasks, "qa"), *unanswerable()]


def unanswerable() -> list[dict]:
  return [*read("qa", "train_unanswerable"), *read("qa", "dev_unanswerable")]


def everything(tasks, task: str) -> list[dict]:
  return [example for lines in tasks[task].values() for example in lines]


def cut(text: str, span: list) -> str:
  assert 0 <= span[0] < span[1] <= len(text)
  return text[span[0] : span[1]]


def names(world, title: str) -> set[str]:
  """What an entity may be called; how the first letter is written depends on where it stands."""
  found = set(world.entities[title].names)
  return found | {name[0].swapcase() + name[1:] for name in found}


@pytest.mark.slow
def test_regenerating_gives_the_same_bytes(tmp_path):
  command = [sys.executable, "-m", "data.sample_tasks.generate", str(tmp_path)]
  subprocess.run(command, cwd=FOLDER.parents[1], check=True)
  made = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*.*"))
  kept = (path for path in FOLDER.glob("*/*.[jc]*") if path.suffix != ".pyc")
  assert made == sorted(path.relative_to(FOLDER) for path in kept)
  for path in made:
    assert (tmp_path / path).read_bytes() == (FOLDER / path).read_bytes(), path


def test_the_readme_counts_right(tasks):
  rows = re.findall(
    r"^\| `(\w+)` \| (\d+) \| (\d+) \| (\d+) \|", (FOLDER / "README.md").read_text(), re.M
  )
  counts = {task: [len(lines) for lines in splits.values()] for task, splits in tasks.items()}
  assert {task: list(map(int, numbers)) for task, *numbers in rows} == counts
  total = sum(path.stat().st_size for path in FOLDER.rglob("*.*") if path.suffix != ".pyc")
  assert total < 3_800_000


@pytest.mark.parametrize("task", SIZES)
def test_lines_have_the_task_s_fields_and_ids_of_their_own(tasks, task):
  extra = unanswerable() if task == "qa" else []
  lines = [*everything(tasks, task), *extra]
  assert len({line["id"] for line in lines}) == len(lines)
  for line in lines:
    assert set(line) - {"title"} == {"id", "text", "meta"} | FIELDS[task]
    assert ("title" in line) <= (task == "qa")


@pytest.mark.parametrize("task", SIZES)
def test_no_text_comes_twice(tasks, task):
  texts = [line["text"] for line in everything(tasks, task)]
  texts += [line["text"] for line in unanswerable() if task == "qa"]
  assert len(set(texts)) == len(texts)


def asked(task: str, line: dict) -> tuple:
  """What may be asked about in one split only."""
  meta = line["meta"]
  if task == "relations":
    return meta["head"], meta["tail"], line["label"]
  if task in ("typing", "ner", "classification", "facts"):
    return (meta.get("entity") or meta["about"],)
  return tuple(meta["fact"])


@pytest.mark.parametrize("task", SIZES)
def test_splits_ask_about_different_things(tasks, task):
  about = [
    {asked(task, line) for line in lines if line.get("label") != NO_RELATION}
    for lines in tasks[task].values()
  ]
  for first, second in combinations(about, 2):
    assert not first & second


@pytest.mark.parametrize("task", SIZES)
def test_unseen_entities_are_named_where_it_is_marked_and_not_in_train(world, tasks, task):
  unseen = [e.name for e in world.entities.values() if e.seen == "no"]
  named = re.compile(rf"(?<!\w)({'|'.join(map(re.escape, unseen))})(?!\w)")
  for split, lines in tasks[task].items():
    marked = [line["meta"].get("unseen", False) for line in lines]
    assert sum(marked) == (0 if split == "train" else len(lines) / 5)
    assert marked == [bool(named.search(line["text"])) for line in lines]


@pytest.mark.parametrize("task", SIZES)
def test_texts_fit_a_window_but_for_a_few_to_try_windows_on(tasks, task):
  tokenizer = load_tokenizer(WIKI / "tokenizer")
  limit = 62 if task in ("typing", "relations", "classification") else 126
  for split, lines in tasks[task].items():
    sizes = [len(tokens.ids) for tokens in tokenizer.encode([line["text"] for line in lines])]
    some = len(lines) // 14 if split != "train" and limit == 126 else 0
    assert 0 <= sum(size > limit for size in sizes) - some <= bool(some), (split, some)


def test_wordings_are_kept_from_train(tasks):
  texts = {split: [lines[split] for lines in tasks.values()] for split in SPLITS}
  found = {s: sum("childhood in" in e["text"] for x in t for e in x) for s, t in texts.items()}
  assert found["train"] == 0
  assert found["dev"] + found["test"] > 0


def test_types_are_those_of_the_world(world, tasks):
  labels: Counter = Counter()
  for line in everything(tasks, "typing"):
    entity = world.entities[line["meta"]["entity"]]
    text = cut(line["text"], line["span"])
    assert text in names(world, entity.title) | PRONOUNS.get(entity.pronoun, set())
    assert line["labels"] == list(types_of(entity).labels)
    labels.update(line["labels"])
    labels["a pronoun"] += text in ("She", "Her", "He", "His")
  assert len(labels) == 24
  assert min(labels.values()) >= 10
  assert labels.total() > 1.5 * len(everything(tasks, "typing"))


def test_topics_are_the_first_types_of_what_a_text_is_about(world, tasks):
  for split, lines in tasks["classification"].items():
    labels = Counter(line["label"] for line in lines)
    assert len(labels) == 8 and min(labels.values()) >= (15 if split == "train" else 1)
    for line in lines:
      entity = world.entities[line["meta"]["entity"]]
      assert line["label"] == types_of(entity).labels[0]
      assert any(name in line["text"] for name in names(world, entity.title))


def test_relations_are_those_of_the_world(world, tasks):
  facts = {(f.subject, f.relation, f.object) for f in world.facts if f.status in (TOLD, UNSEEN)}
  related = {frozenset((f.subject, f.object)) for f in world.facts}
  lines = everything(tasks, "relations")
  for line in lines:
    meta = line["meta"]
    assert cut(line["text"], line["head"]) in names(world, meta["head"])
    assert cut(line["text"], line["tail"]) in names(world, meta["tail"])
    if line["label"] == NO_RELATION:
      assert frozenset((meta["head"], meta["tail"])) not in related
    else:
      assert (meta["head"], line["label"], meta["tail"]) in facts
  for split in SPLITS:
    labels = Counter(line["label"] for line in tasks["relations"][split])
    assert set(labels) == {*RELATIONS, NO_RELATION}
    assert labels[NO_RELATION] == 0.35 * labels.total()
  for none in (True, False):
    orders = [x["head"] < x["tail"] for x in lines if (x["label"] == NO_RELATION) == none]
    assert 0.3 < sum(orders) / len(orders) < 0.7


def test_facts_are_those_of_the_world(world, tasks):
  related = {frozenset((f.subject, f.object)): set() for f in world.facts}
  for fact in world.facts:
    related[frozenset((fact.subject, fact.object))].add(fact.relation)
  named = {}
  for title in world.entities:
    for name in names(world, title):
      named.setdefault(name, set()).add(title)
  for line in everything(tasks, "facts"):
    for head, tail, relation in line["facts"]:
      ends = [line["names"][x]["mentions"] for x in (head, tail)]
      one, other = ({t for s in x for t in named.get(cut(line["text"], s), ())} for x in ends)
      pairs = (frozenset((x, y)) for x in one for y in other)
      assert any(relation in related.get(pair, ()) for pair in pairs), line["id"]


def test_sentences_cover_documents(tasks):
  for line in (*everything(tasks, "ner"), *everything(tasks, "facts")):
    sentences = line["sentences"]
    assert sentences[0][0] == 0
    assert sentences[-1][1] == len(line["text"])
    assert all(line["text"][a[1] : b[0]] == " " for a, b in pairwise(sentences))
    assert all(cut(line["text"], sentence).endswith(".") for sentence in sentences)
    assert len(sentences) >= 2 or "facts" in line


def test_names_are_labelled_as_the_world_has_them(world, tasks):
  labels: dict[str, set[str]] = {}
  for entity in world.entities.values():
    for name in names(world, entity.title):
      labels.setdefault(name, set()).add(types_of(entity).ner)
    if entity.type == "country":
      labels[entity.short].add("MISC")
  counts = Counter()
  for line in everything(tasks, "ner"):
    assert line["spans"] == sorted(line["spans"])
    for start, end, label in line["spans"]:
      assert label in labels[cut(line["text"], [start, end])]
      assert any(a <= start and end <= b for a, b in line["sentences"])
      counts[label] += 1
  assert set(counts) == {"PER", "LOC", "ORG", "MISC"}
  assert min(counts.values()) > 200


@pytest.mark.parametrize("split", SPLITS)
def test_columns_hold_the_same_documents(tasks, split):
  text = (FOLDER / "ner" / f"{split}.conll").read_text(encoding="utf-8")
  start, *documents = text.split("-DOCSTART- O\n")
  assert start == ""
  assert len(documents) == len(tasks["ner"][split])
  for document, line in zip(documents, tasks["ner"][split], strict=True):
    sentences = [part.splitlines() for part in document.strip().split("\n\n")]
    found = []
    for rows, span in zip(sentences, line["sentences"], strict=True):
      words, tags = zip(*(row.split(" ") for row in rows), strict=True)
      assert "".join(words) == cut(line["text"], span).replace(" ", "")
      for word, tag in zip(words, tags, strict=True):
        if tag.startswith("I-"):
          assert found[-1][1] == tag[2:]
          found[-1][0] += word
        elif tag != "O":
          found.append([word, tag[2:]])
    spans = [[cut(line["text"], s).replace(" ", ""), s[2]] for s in line["spans"]]
    assert found == spans


def test_gaps_are_filled_by_one_entity_of_the_passage(world, tasks):
  known = {name for title in world.entities for name in names(world, title)}
  for line in everything(tasks, "cloze"):
    text, query, meta = line["text"], line["query"], line["meta"]
    assert query.count("@placeholder") == 1
    assert line["answers"]
    assert all(answer in line["entities"] for answer in line["answers"])
    assert {cut(text, entity) for entity in line["entities"]} <= known
    title = meta["fact"][0 if meta["asks"] == "subject" else 2]
    for answer in line["answers"]:
      assert cut(text, answer) in names(world, title)
      assert query.replace("@placeholder", cut(text, answer)) not in text


def test_facts_asked_about_are_told_or_implied_or_left_out(world, tasks, questions):
  facts = {(f.subject, f.relation, f.object): f for f in world.facts}
  for line in [*everything(tasks, "cloze"), *questions]:
    fact = facts[tuple(line["meta"]["fact"])]
    implied = line["meta"].get("implied", False)
    assert fact.status == (
      "implied" if implied else "unseen" if line["meta"].get("unseen") else "told"
    )
  for task in ("cloze", "qa"):
    for lines in tasks[task].values():
      assert sum(line["meta"].get("implied", False) for line in lines) == len(lines) / 10


def test_what_is_implied_follows_from_what_the_passage_names(world, tasks):
  for line in [*everything(tasks, "cloze"), *everything(tasks, "qa")]:
    if line["meta"].get("implied"):
      subject, relation, object = line["meta"]["fact"]
      place = world.object_of(subject, "born_in") or world.entities[subject]
      region = world.object_of(place.title, "in_region")
      steps = [subject, place.title, region.title, world.home[subject], object]
      for title in steps:
        assert any(name in line["text"] for name in names(world, title)), (line["id"], title)
      assert relation in ("in_country", "citizen_of", "speaks")


def test_answers_are_names_or_years(world, questions):
  years = {(f.subject, f.relation, f.object): str(f.year) for f in world.facts}
  asks = Counter()
  for line in questions:
    subject, _, object = fact = tuple(line["meta"]["fact"])
    wanted = {"subject": subject, "object": object}.get(line["meta"]["asks"])
    found = {cut(line["text"], answer) for answer in line["answers"]}
    assert found <= ({years[fact]} if wanted is None else names(world, wanted))
    assert bool(found) != ("unanswerable" in line["id"])
    assert line["question"].endswith("?")
    asks[line["meta"]["asks"]] += 1
    if wanted and found:
      assert not found & {cut(line["question"], e) for e in line["question_entities"]}
  assert min(asks.values()) > 30


def test_questions_link_to_pages(world, questions):
  pages = {entity.title for entity in world.pages}
  for line in questions:
    assert line.get("title", "Castrel") in pages
    for field, text in (("entities", "text"), ("question_entities", "question")):
      for start, end, title in line[field]:
        assert title in pages
        assert cut(line[text], [start, end]) in names(world, title)


def test_unanswerable_questions_do_not_name_the_answer():
  assert (len(read("qa", "train_unanswerable")), len(read("qa", "dev_unanswerable"))) == (75, 15)
  for line in unanswerable():
    subject, _, object = line["meta"]["fact"]
    wanted = subject if line["meta"]["asks"] == "subject" else object
    assert wanted not in {title for *_, title in line["entities"]}
    assert line["answers"] == []
