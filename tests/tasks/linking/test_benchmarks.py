"""Free benchmarks of entity linking: their files, and the counts that were published of answers."""

import json

import pytest

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.tasks.files import Faults
from luke_jax.tasks.linking import score
from luke_jax.tasks.linking.files import LinkedMention, read
from luke_jax.tasks.linking.score import Meaning

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
    LinkedMention(18, 22, "1802", "Q8", True),
  )
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


GUM = """# newdoc id = d1
1\tThe\tthe\tDET\tDT\t_\t2\tdet\t_\tEntity=(1-place-new-nnnnn-cf1-2,3-coref-New_Castrel%2C_A(2-x-new-n-c-1-sgl)
2\tNew\tnew\tPROPN\tNNP\t_\t0\troot\t_\t_
3\tCastrel\tcastrel\tPROPN\tNNP\t_\t2\tflat\t_\tEntity=1)|SpaceAfter=No
4\t,\t,\tPUNCT\t,\t_\t2\tpunct\t_\t_
5\tit\tit\tPRON\tPRP\t_\t2\tx\t_\tEntity=(1-place-giv:act-nnnnn-cf1-1-ana-New_Castrel)
"""


def test_documents_of_gum_have_named_mentions_with_a_title(tmp_path):
  file = Path(tmp_path / "a.conllu")
  file.write_text(GUM, encoding="utf-8")
  (example,) = read(file, Faults())
  assert example.text == "The New Castrel, it"
  assert example.mentions == (LinkedMention(4, 15, "New Castrel, A"),)
  file.write_text(GUM.replace("Entity=1)", "Entity=3)"), encoding="utf-8")
  with pytest.raises(InputError, match="document d1: word 3: '3\\)'; expected a mention to close"):
    read(file, Faults())


def test_entities_are_the_same_by_items_or_by_titles():
  ana = Meaning("Ana", "Q7")
  assert ana.same(Meaning("Another", "Q7")) and not ana.same(Meaning("Ana", "Q8"))
  assert ana.same(Meaning("ana")) and Meaning("A b").same(Meaning("a_b"))
  assert not Meaning().same(Meaning())


def test_overlaps_count_weakly_and_what_is_optional_nowhere():
  gold = {(0, 9): Meaning("A"), (20, 24): Meaning("1802", None, True), (30, 31): Meaning("B")}
  said = {(4, 9): Meaning("A"), (20, 24): Meaning("1803"), (26, 31): Meaning("C")}
  assert score.counts_of(gold, said) == (0, 2, 2)
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


@pytest.mark.real_data
@pytest.mark.parametrize("benchmark", ["kore50", "derczynski"])
@pytest.mark.parametrize("system", SYSTEMS)
def test_published_counts_of_stored_answers_are_ours(benchmark, system, real_data):
  folder = Path(real_data / "linking")
  gold = read(folder / benchmark / f"{benchmark}.benchmark.jsonl", Faults())
  stem = folder / "stored_predictions" / f"{system}.{benchmark}"
  said = score.read_predictions(Path(f"{stem}.linked_articles.jsonl"), Faults())
  counts = [score.counts_of(score.golds(x), said.get(x.id, {})) for x in gold]
  right, all_said, all_gold = (sum(x[i] for x in counts) for i in range(3))
  results = json.loads(Path(f"{stem}.eval_results.json").read_text(encoding="utf-8"))
  published = results["IGNORED"]["mention_types"]["all"]
  assert right == published["true_positives"]
  assert all_said - right == published["false_positives"]
  assert all_gold - right == published["false_negatives"]
