"""Free benchmarks of entity linking: their files, and the counts that were published of answers."""

import json

import pytest

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.formats.files import Faults
from luke_jax.tasks.linking import score
from luke_jax.tasks.linking.files import LinkedMention, LinkingExample, parse, read, to_json
from luke_jax.tasks.linking.score import Meaning, counts_of

SYSTEMS = ("refined__aida_", "rel__2014_", "genre__yago_", "spel__large_", "baseline")


def examples(folder, *values):
  file = Path(folder / "gold.jsonl")
  file.write_text("".join(json.dumps(x) + "\n" for x in values), encoding="utf-8")
  return read(file, Faults())


def test_benchmarks_of_elevant_have_items_unknown_entities_and_dates(tmp_path):
  labels = [
    {"span": [0, 3], "entity_id": "Q7", "name": "Ana Ferrier", "type": "Q5"},
    {"span": [8, 14], "entity_id": "<NIL>", "name": "Unknown", "type": "OTHER"},
    {"span": [18, 22], "entity_id": "Q8", "name": "1802", "type": "DATETIME"},
  ]
  text = "Ana saw Sparks in 1802"
  value = {"id": 3, "text": text, "title": "", "evaluation_span": [0, 22], "labels": labels}
  (example,) = examples(tmp_path, value)
  assert example.mentions == (
    LinkedMention(0, 3, "Ana Ferrier", "Q7"),
    LinkedMention(8, 14, ""),
    LinkedMention(18, 22, "", None, True),
  )
  assert example.annotated == (0, 22)
  with pytest.raises(InputError, match=r"line 1: labels: {'span': \[0\]}; expected a label with"):
    examples(tmp_path, value | {"labels": [{"span": [0]}]})


def test_tweeki_and_reddit_have_titles_beside_spans(tmp_path):
  tweet = {"id": 1, "sentence": "Ana won", "index": [[0, 3]], "link": ["Ana | x|Q7"]}
  post = {"id": "a", "text": "Ana won", "index": [[0, 3]], "wikipedia_titles": ["Ana"]}
  found = examples(tmp_path, tweet, post | {"wikipedia_ids": [5]})
  assert [x.mentions for x in found] == [
    (LinkedMention(0, 3, "Ana | x", "Q7"),),
    (LinkedMention(0, 3, "Ana"),),
  ]
  with pytest.raises(InputError, match="index: 1 spans of 2 titles; expected as many"):
    examples(tmp_path, post | {"wikipedia_titles": ["Ana", "B"]})
  for change in ({"index": [3]}, {"index": None}, {"wikipedia_titles": 1}):
    with pytest.raises(InputError, match=r"line 1: (index|wikipedia_titles): .*expected a list"):
      examples(tmp_path, post | change)


def test_entities_are_the_same_by_items_or_by_titles():
  ana = Meaning("Ana", "Q7")
  assert ana.same(Meaning("Another", "Q7")) and not ana.same(Meaning("Ana", "Q8"))
  assert ana.same(Meaning("ana")) and Meaning("A b").same(Meaning("a_b"))
  assert not Meaning().same(Meaning())


def test_overlaps_count_weakly_and_what_is_optional_nowhere():
  names = (
    LinkedMention(0, 9, "A"),
    LinkedMention(20, 24, "", None, True),
    LinkedMention(30, 31, "B"),
  )
  gold = LinkingExample("", "", "x" * 31, names)
  said = {(4, 9): Meaning("A"), (20, 24): Meaning("1803"), (26, 31): Meaning("C")}
  assert counts_of(gold, said) == (0, 2, 2)
  scores = score.score([gold], [said])
  assert scores["f1"] == 0 and scores["weak_f1"] == pytest.approx(0.5)
  assert "none_of_these" not in scores and "f1_with_none" not in scores


def test_answers_of_elevant_are_read(tmp_path):
  file = Path(tmp_path / "said.jsonl")
  mentions = [{"span": [0, 3], "id": "Q7"}, {"span": [4, 5], "id": "<NIL>"}]
  lines = {"id": 1, "evaluation_span": [0, 9], "entity_mentions": mentions}, {"id": 2, "links": []}
  file.write_text("".join(json.dumps(x) + "\n" for x in lines), encoding="utf-8")
  found = score.read_predictions(file, Faults())
  for link in ([0, 3, 5], [[0], 3, "A"], 7):
    file.write_text(json.dumps({"id": 1, "links": [link]}), encoding="utf-8")
    with pytest.raises(InputError, match=r"links: .*expected \[start, end, title\]"):
      score.read_predictions(file, Faults())
  assert found == {"1": {(0, 3): Meaning("", "Q7"), (4, 5): Meaning()}, "2": {}}


# Annotated from its second sentence on, with names in names, an optional one and a date.
PARTLY = "Bo Ferrier ruled. Ana Ferrier, Duchess of Castrel, saw Bo's New Castrel in 1802."
NESTED = [
  {"id": 1, "span": [18, 49], "entity_id": "Q1", "name": "Ana", "children": [2, 3, 4]},
  {"id": 2, "span": [18, 29], "entity_id": "Q1", "name": "Ana", "parent": 1},
  {"id": 3, "span": [31, 38], "entity_id": "Q2", "name": "duke", "parent": 1, "optional": True},
  {"id": 4, "span": [42, 49], "entity_id": "Q3", "name": "Castrel", "parent": 1},
  {"id": 5, "span": [55, 57], "entity_id": "Q4", "name": "Bo"},
  {"id": 6, "span": [60, 71], "entity_id": "Q5", "name": "New Castrel", "optional": True},
  {"id": 7, "span": [75, 79], "entity_id": "DATETIME", "name": "Unknown", "type": "DATETIME"},
]


@pytest.mark.parametrize(
  ("said", "counts"),  # right, wrong, missed, as counted by hand
  [
    ({}, (0, 0, 2)),  # the whole of the duchess, and Bo
    ({(18, 49): "Q1", (55, 57): "Q4"}, (2, 0, 0)),
    ({(18, 29): "Q1", (42, 49): "Q3", (55, 57): "Q4"}, (2, 0, 0)),  # all her parts
    ({(18, 29): "Q1", (55, 59): "Q4"}, (1, 0, 1)),  # Castrel is missed; Bo's is Bo
    ({(18, 29): "Q1", (42, 49): "Q9"}, (0, 1, 2)),
    ({(18, 49): "Q1", (18, 29): "Q9", (42, 49): "Q9"}, (1, 0, 1)),  # the whole is right
    ({(18, 49): "Q9"}, (0, 1, 2)),
    ({(18, 49): "Q9", (18, 29): "Q1", (42, 49): "Q3"}, (1, 0, 1)),
    ({(18, 29): "Q1", (31, 38): "Q2", (42, 49): "Q3"}, (1, 0, 1)),  # the optional part, right
    ({(18, 29): "Q1", (31, 38): "Q9", (42, 49): "Q3"}, (0, 1, 1)),  # and wrong
    ({(0, 10): "Q4", (60, 71): "Q5", (75, 79): "Q9"}, (0, 0, 2)),  # outside, optional, a date
    ({(60, 71): "Q9", (64, 71): "Q3"}, (0, 2, 2)),  # an optional one wrong, and no name
  ],
)
def test_names_in_names_and_the_annotated_part_are_counted_as_by_hand(tmp_path, said, counts):
  value = {"id": 1, "text": PARTLY, "evaluation_span": [18, 80], "labels": NESTED}
  (gold,) = examples(tmp_path, value)
  assert counts_of(gold, {x: Meaning("", y) for x, y in said.items()}) == counts
  assert parse(to_json(gold), gold.id, gold.place) == gold
  scores = score.score_file([gold], {"1": {x: Meaning("", y) for x, y in said.items()}})
  assert scores["recall"] == counts[0] / 2 and "f1_with_none" in scores


def test_labels_in_labels_that_are_not_there_or_in_each_other_are_named(tmp_path):
  value = {"id": 1, "text": PARTLY, "evaluation_span": [18, 80]}
  one = {"span": [18, 49], "entity_id": "Q1", "name": "Ana"}
  many = [one | {"id": i, "parent": i + 1} for i in range(2000)] + [one | {"id": 2000}]
  circle = [one | {"id": 1, "parent": 2}, one | {"id": 2, "parent": 1}]
  for labels in ([one | {"id": 1, "parent": 7}], [one | {"id": 1, "parent": 1}], circle, many):
    with pytest.raises(InputError, match=r"line 1: labels: parent .*; expected the id of another"):
      examples(tmp_path, value | {"labels": labels})
  with pytest.raises(InputError, match=r"labels: .*expected a label with .* an id of its own"):
    examples(tmp_path, value | {"labels": [one | {"id": 1}, one | {"id": 1}]})


@pytest.mark.real_data
@pytest.mark.parametrize("benchmark", ["kore50", "derczynski"])
@pytest.mark.parametrize("system", SYSTEMS)
def test_published_counts_of_stored_answers_are_ours(benchmark, system, real_data):
  folder = Path(real_data / "linking")
  gold = read(folder / benchmark / f"{benchmark}.benchmark.jsonl", Faults())
  stem = folder / "stored_predictions" / f"{system}.{benchmark}"
  said = score.read_predictions(Path(f"{stem}.linked_articles.jsonl"), Faults())
  results = json.loads(Path(f"{stem}.eval_results.json").read_text(encoding="utf-8"))
  for mode, with_none in (("IGNORED", False), ("REQUIRED", True)):
    counts = [counts_of(x, said.get(x.id, {}), with_none=with_none) for x in gold]
    published = results[mode]["mention_types"]["all"]
    assert [sum(x[i] for x in counts) for i in range(3)] == [
      published[f"{name}s"] for name in ("true_positive", "false_positive", "false_negative")
    ]
