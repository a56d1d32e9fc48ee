"""Entity linking: what a linker knows, its rows, its answers and its score."""

import dataclasses
import json
import time

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from networks import applied, backbone
from sample_models import save_start
from small_systems import small

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.formats.files import Faults
from luke_jax.heads.linking import PRIORS, SETTLED, VECTORS, LinkingHead
from luke_jax.models.network import apply, initial_params
from luke_jax.nn.losses import IGNORED
from luke_jax.runs.starts import start_model
from luke_jax.systems.bert import BertConfig
from luke_jax.systems.luke import LukeConfig
from luke_jax.systems.luke.encoder import LukeEncoder
from luke_jax.tasks import contract
from luke_jax.tasks.linking import score
from luke_jax.tasks.linking.candidates import candidates_in
from luke_jax.tasks.linking.files import LinkedMention, LinkingExample, parse, read, to_json
from luke_jax.tasks.linking.knowledge import About, Knowledge, lines_of, write_knowledge
from luke_jax.tasks.linking.names import NONE, Meanings, key_of, names_in
from luke_jax.tasks.linking.score import Meaning
from luke_jax.tasks.linking.task import EntityLinking
from luke_jax.tasks.predictions import Link
from luke_jax.tasks.running import Running, processor_for

ENTITIES = [
  About("Ana Ferrier", "a painter", "Q1"),
  About("Bo Ferrier", "a sailor", "Q2"),
  About("New Castrel", "a harbour town"),
]
NAMES = {
  "Ana Ferrier": {0: 1.5},
  "Ferrier": {0: 1.0, 1: 3.0},
  "New Castrel": {2: 2.0},
  "Castrel": {2: 0.5},
  "Bo Ferrier": {1: 0.5},
}
TEXT = "Ana Ferrier and Ferrier left New Castrel."
TOKENIZER = str(Path(__file__).parents[3] / "data" / "sample_wiki" / "tokenizer")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
  place = Path(tmp_path_factory.mktemp("knowledge") / "known")
  vectors = np.random.default_rng(0).normal(size=(3, 8))
  meanings = Meanings.of(NAMES)
  meanings.linked[meanings.keys == key_of("Castrel")] = 0.25
  of_ana = (meanings.keys == key_of("Ferrier")) & (meanings.ids == 0)
  meanings.evidence[of_ana] = [[2, 7, 4], [1, 0, 0]]
  write_knowledge(place, lines_of(ENTITIES), (vectors,), meanings, {"tables": "a"})
  return place


def test_names_have_the_likeliest_entities_first(folder):
  known = Knowledge(folder)
  ids, priors = known.candidates("Ferrier", 5)
  assert ids.tolist() == [1, 0] and priors.tolist() == [0.75, 0.25]
  assert known.candidates("Ferrier", 1).ids.tolist() == [1]
  assert known.candidates("ferrier", 5).ids.tolist() == []
  assert known.candidates("New  Castrel", 5).ids.tolist() == [2]
  assert known.candidates("Castrel", 5).priors.tolist() == [0.25]  # a common word elsewhere
  assert known.evidence("Ferrier", 0) == [("New Castrel", 7, 4), ("Bo Ferrier", 0, 0)]
  assert known.evidence("Ferrier", 1) == known.evidence("Nobody", 0) == []
  assert [known.about(i) for i in range(3)] == ENTITIES
  assert known.id_of("Bo Ferrier") == known.id_of("Q2") == 1 and known.id_of("Nobody") == NONE
  assert not known.vectors(np.array([NONE])).any() and known.vectors(np.array([1])).any()


def test_knowledge_in_a_bucket_is_read_from_a_copy(folder, bucket, tmp_path, monkeypatch):
  monkeypatch.setenv("LUKE_JAX_CACHE", str(tmp_path / "cache"))
  for file in folder.iterdir():
    (bucket / file.name).write_bytes(file.read_bytes())
  there, here = Knowledge(bucket), Knowledge(folder)
  assert isinstance(there.all_vectors, np.memmap) and there.lines == here.lines
  assert [there.about(i) for i in range(3)] == ENTITIES
  np.testing.assert_array_equal(
    there.vectors(np.array([2, NONE])), here.vectors(np.array([2, NONE]))
  )


def test_a_short_name_is_likeliest_what_a_longer_one_means(folder):
  known = Knowledge(folder)

  def likeliest(*names):
    text = ", ".join(names)
    spans = [(text.index(x), text.index(x) + len(x)) for x in names]
    return candidates_in(text, spans, known, 4)[-1]

  alone, beside = likeliest("Ferrier"), likeliest("Ana Ferrier", "Ferrier")
  assert alone.ids.tolist() == [1, 0] and beside.ids.tolist() == [0, 1]
  np.testing.assert_allclose(beside.priors, [0.9 + 0.1 * 0.25, 0.1 * 0.75])
  both = likeliest("Ana  Ferrier", "Bo Ferrier", "Ferrier")
  np.testing.assert_allclose(both.priors, [0.45 + 0.1 * 0.75, 0.45 + 0.1 * 0.25])
  # Castrel has one meaning, and Ana Ferrierson does not contain the word.
  assert likeliest("New Castrel", "Castrel").priors.tolist() == [0.25]
  assert likeliest("Ana Ferrierson", "Ferrier").ids.tolist() == [1, 0]
  assert likeliest("Ferrier", "Ana Ferrier").ids.tolist() == [0]


def test_many_long_names_are_compared_in_linear_time(folder):
  words = [f"Ferrier {'a ' * 14}{i}" for i in range(3000)]
  text, spans = ", ".join(words), []
  for word in words:
    start = spans[-1][1] + 2 if spans else 0
    spans.append((start, start + len(word)))
  begun = time.process_time()
  spans += [(0, len(text)), (0, 8)]  # a span of all of it
  assert len(candidates_in(text, spans, Knowledge(folder), 4)) == 3002
  assert time.process_time() - begun < 4


def test_the_longest_names_of_a_text_are_found(folder):
  found = Knowledge(folder).names_in(TEXT)
  assert [TEXT[start:end] for start, end in found] == ["Ana Ferrier", "Ferrier", "New Castrel"]


@pytest.mark.parametrize(
  ("text", "names", "found"),
  [
    (
      "Warsaw's own, Warsaw-based, pro-Warsaw, Ankara'da",
      "Warsaw Ankara",
      "Warsaw " * 3 + "Ankara",
    ),
    ("l'Assemblée, Côte d'Ivoire", "Assemblée d'Ivoire Ivoire", "Assemblée d'Ivoire"),
    ("Jean-Paul, O'Brien, AT&T, U.S.A, 3.5", "Jean Paul Brien O AT T U S A 3 5", ""),
    ("R.E.M., AC/DC, C++, Yahoo!", "R.E.M. AC/DC C++ C Yahoo! Yahoo", "R.E.M. AC/DC C++ Yahoo!"),
    ("वह दिल्ली में पैदा हुई थी", "दिल्ली", "दिल्ली"),
    ("玛丽居里出生于华沙。", "华沙 玛丽居里", "玛丽居里 华沙"),
    ("マリは東京都に住む", "東京 東京都", "東京都"),
    ("เธอเกิดที่วอร์ซอในปี", "วอร์ซอ", "วอร์ซอ"),
    ("서울에서", "서울 에서", "서울"),
    ("Ω " * 9, "Ω", "Ω " * 9),
  ],
)
def test_names_of_all_scripts_are_found_as_whole_words(text, names, found):
  spans = list(names_in(text, set(names.split()).__and__))
  assert [text[start:end] for start, end in spans] == found.split()


def test_a_name_may_go_over_the_end_of_a_line_and_not_of_a_paragraph():
  text = "New\nCastrel, New\n\nCastrel"
  assert list(names_in(text, {"New\nCastrel", "New\n\nCastrel"}.__and__)) == [(0, 11)]


def test_names_are_found_across_the_parts_that_are_looked_up_at_once(monkeypatch):
  text = "A B C D E F G H"
  names = {"B C", "C D", "E F G"}
  expected = list(names_in(text, names.__and__))
  monkeypatch.setattr("luke_jax.tasks.linking.names.AT_ONCE", 2)
  assert list(names_in(text, names.__and__)) == expected == [(2, 5), (8, 13)]


@given(st.text(alphabet="A .'’-&\n\u0301Ferrier東서울", max_size=200))
def test_names_of_any_text_are_in_order_and_apart(folder, text):
  last, known = 0, Knowledge(folder)
  one_by_one = names_in(text, lambda all: {x for x in all if len(known.candidates(x, 1).ids)})
  found = list(known.names_in(text))
  assert list(one_by_one) == found
  for start, end in found:
    assert last <= start < end <= len(text)
    last = end


@pytest.mark.parametrize(
  "text", ["Ferrier " * 5000, "x" * 40000, " " * 40000, "A." * 20000, "東" * 20000, "'-" * 20000]
)
def test_names_are_found_in_linear_time(folder, text):
  start = time.process_time()
  list(Knowledge(folder).names_in(text))
  assert time.process_time() - start < 4


@pytest.mark.parametrize(
  ("value", "fault"),
  [
    ({"text": "a", "mentions": [[0]]}, r"mentions: \[0\]; expected \[start, end\]"),
    ({"text": "a", "mentions": [[0, 1, 2]]}, "null for no known entity"),
    ({"text": "a", "mentions": [[0, 9, "A"]]}, "mentions: "),
    ({"text": "a", "mention": []}, "perhaps mentions"),
  ],
)
def test_faulty_examples_are_named(value, fault):
  with pytest.raises(InputError, match=fault):
    parse(value, "1", "a.jsonl: line 1")


def test_examples_are_written_as_they_are_read(tmp_path):
  mentions = (
    LinkedMention(0, 3, "Ana Ferrier"),
    LinkedMention(4, 7, "", None, True),
    LinkedMention(8, 9),
  )
  mentions = (*mentions, LinkedMention(9, 9 + 1, "", "Q7"))
  example = LinkingExample("1", "a", "Ana and xy", mentions)
  (tmp_path / "a.jsonl").write_text(json.dumps(to_json(example)))
  (again,) = read(Path(tmp_path / "a.jsonl"), Faults())
  assert dataclasses.replace(again, place="a") == example
  with pytest.raises(InputError, match=r"no titles; expected what each name means"):
    score.check_meanings(example)


def task(folder, **fields):
  return EntityLinking(knowledge=str(folder), text=TOKENIZER, words=32, candidates=4, **fields)


def gold(*mentions, text=TEXT):
  return LinkingExample("1", "a", text, tuple(LinkedMention(*x) for x in mentions))


ALL = (0, 11, "Ana Ferrier"), (16, 23, "Bo Ferrier"), (29, 40, "New Castrel")


def rows_of(made, *examples):
  return made.features(processor_for(made, backbone(BertConfig())), examples)


def test_rows_have_candidates_and_the_place_of_the_right_one(folder):
  (row,) = rows_of(task(folder), gold(*ALL))
  assert row.source.ids.tolist() == [[0, -1, -1, -1], [0, 1, -1, -1], [2, -1, -1, -1]]
  assert row.labels.tolist() == [0, 1, 0]
  (row,) = rows_of(task(folder), gold((0, 11, ""), (16, 23, "New Castrel"), (29, 40, None)))
  assert row.labels.tolist() == [4, 4, IGNORED]  # none of the candidates, twice; not known


def test_names_with_one_candidate_are_trained_beside_random_ones(folder):
  many = [gold((0, 11, "Ana Ferrier"), text="Ana Ferrier" + " x" * i) for i in range(40)]
  rows = rows_of(task(folder, fill=True), *many)
  assert all(len(set(row.source.ids[0]) - {NONE}) >= 1 for row in rows)
  assert max((row.source.ids[0] != NONE).sum() for row in rows) == 3
  assert [row.source.ids.tolist() for row in rows_of(task(folder, fill=True), *many)] == [
    row.source.ids.tolist() for row in rows
  ]
  withheld = [row.labels[0] == 4 for row in rows]
  assert not all(withheld)


def test_each_name_of_a_long_text_is_decided_once(folder):
  text = f"{TEXT} " * 12
  mentions = [
    (start + len(TEXT) * i + i, end + len(TEXT) * i + i, title)
    for i in range(12)
    for start, end, title in ALL
  ]
  rows = rows_of(task(folder, entities=4), gold(*mentions, text=text))
  assert len(rows) > 3
  numbers = [x for row in rows for x in row.source.numbers.tolist() if x != NONE]
  assert sorted(numbers) == list(range(36))


def test_outputs_become_links_in_order(folder):
  made = task(folder, others=1)
  found, given_ = LinkingExample("1", "a", TEXT), gold(*ALL)
  rows = rows_of(made, found, given_)
  logits = np.full((len(rows), 8, 5), -9.0)
  logits[:, 0, 0], logits[:, 1, 0], logits[:, 2, 4] = 9, 9, 9
  first, second = made.decode([found, given_], rows, {"logits": logits})
  assert [x.start for x in second] == [0, 16, 29]
  assert [(x.text, x.title, x.item) for x in first] == [
    ("Ana Ferrier", "Ana Ferrier", "Q1"),
    ("Ferrier", "Ana Ferrier", "Q1"),
  ]
  assert second[2].title is None and second[2].label == "none"
  assert second[1].evidence[0] == ("New Castrel", 7, 4) and second[2].evidence == ()
  assert first[1].others[0].title == "Bo Ferrier"
  line = made.to_prediction(given_, second)
  assert line["links"][0][:4] == [0, 11, "Ana Ferrier", "Q1"]
  finding = task(folder, find=True)
  assert [
    len(x) for x in finding.decode([given_], rows_of(finding, given_), {"logits": logits})
  ] == [2]
  sure = task(folder, threshold=1.0)
  assert sure.decode([found], rows[:1], {"logits": logits}) == [[]]


def test_scores_count_links_names_and_what_is_refused(folder):
  names = LinkedMention(0, 3, "A"), LinkedMention(4, 7, "B"), LinkedMention(8, 9, "")
  one, empty = (LinkingExample("", "", "and so on", x) for x in (names, ()))
  said = {(0, 3): Meaning("A"), (4, 7): Meaning("C"), (8, 9): Meaning()}
  scores = score.score([one, empty], [said, {}])
  assert scores["accuracy"] == scores["f1"] == scores["macro_f1"] == 0.5
  assert scores["none_of_these"] == 1 and scores["f1_with_none"] == pytest.approx(2 / 3)
  links = [Link("Ferrier", 16, 23, "Ana Ferrier", "Q1", 0.9)]
  evaluation = task(folder).evaluate([gold(*ALL)], [links])
  assert evaluation.scores["recall_of_candidates"] == 1 and evaluation.scores["recall"] == 0
  assert evaluation.scores["recall_of_knowledge"] == 1 and evaluation.scores["weak_f1"] == 0
  assert evaluation.scores["prior_accuracy"] == 1 and evaluation.scores["accuracy"] == 0
  assert evaluation.scores["ambiguous_prior_accuracy"] == 1  # of "Ferrier", the only such name
  assert evaluation.scores["ambiguous_accuracy"] == 0
  (mistake,) = evaluation.mistakes
  assert (mistake.gold, mistake.predicted) == ("Bo Ferrier", "Ana Ferrier")


def test_a_prior_of_nothing_is_no_candidate_and_order_changes_nothing(folder):
  """The head scores each candidate by itself, one that is meant more often higher."""
  base = backbone(small(BertConfig, max_position_embeddings=64))
  made = task(folder)
  network = made.network(base)
  params = initial_params(network, jax.random.key(0))
  rows = rows_of(made, gold(*ALL))
  inputs = Running(made).inputs(base, rows, made.sizes, 0)
  logits = np.asarray(applied(network, params, inputs)["logits"])
  assert (logits[0, 0, 1:4] < -1e8).all() and (logits[0, 0, [0, 4]] > -1e4).all()
  rarer = applied(network, params, inputs | {PRIORS: inputs[PRIORS] / 2})["logits"]
  fell = logits[0, 0] - np.asarray(rarer)[0, 0]
  assert fell[0] == pytest.approx(np.log(2), abs=1e-5) and fell[4] == 0
  for name in (VECTORS, PRIORS):
    inputs[name] = inputs[name][:, :, ::-1]
  turned = np.asarray(applied(network, params, inputs)["logits"])
  np.testing.assert_array_equal(turned[..., :4], logits[..., 3::-1])


def test_names_read_what_the_others_mean_and_nothing_of_padding(folder):
  base = backbone(small(BertConfig, max_position_embeddings=64))
  made = task(folder)
  network = made.network(base)
  params = initial_params(network, jax.random.key(0))
  params["beside"]["scale"]["scale"] = np.ones(1, np.float32)  # 0 at first
  inputs = Running(made).inputs(base, rows_of(made, gold(*ALL)), made.sizes, 0)

  def logits(**changes):
    return np.asarray(applied(network, params, inputs | changes)["logits"])[0]

  before, order = logits(), np.array([2, 0, 1, *range(3, made.sizes.entities)])
  turned = {name: x[:, order] for name, x in inputs.items() if x.shape[1] == made.sizes.entities}
  np.testing.assert_allclose(logits(**turned), before[order], atol=1e-5)
  unknown = inputs[PRIORS].copy()
  unknown[:, 2] = 0  # the last name means nothing that is known, so it is no longer read
  assert np.abs(logits(**{PRIORS: unknown}) - before)[:2, 0].min() > 1e-5
  other = inputs[VECTORS].copy()
  other[:, 3:] = 7  # of padding
  np.testing.assert_array_equal(logits(**{VECTORS: other})[:3], before[:3])


def test_training_starts_with_a_head_as_wide_as_the_knowledge(folder, tmp_path):
  start = save_start(tmp_path / "start")
  made = EntityLinking(knowledge=str(folder), text=str(start))
  head = start_model(start, made, "special").network.head
  assert isinstance(head, LinkingHead) and (head.vectors, head.rounds) == (8, 1)


def test_settings_are_checked(folder):
  for fields, fault in (
    ({"threshold": 2.0}, "threshold: 2.0"),
    ({"candidates": 0}, "candidates: 0"),
    ({"rounds": -1}, "rounds: -1"),
    ({"labels": ("a",)}, "labels: a; expected none"),
  ):
    with pytest.raises(InputError, match=fault):
      EntityLinking(knowledge=str(folder), **fields)
  with pytest.raises(InputError, match="no knowledge of entities"):
    EntityLinking(knowledge="nowhere").network(backbone(BertConfig()))
  with pytest.raises(InputError, match=r"task.knowledge: empty"):
    EntityLinking().network(backbone(BertConfig()))


def of_luke(folder, steps):
  """A task, and a network of its own with two rows; the second one has a name less."""
  # Large weights, so that it matters what is read.
  base = backbone(small(LukeConfig, max_position_embeddings=64, initializer_range=0.3))
  made = task(folder, entities=4, steps=steps)
  network, some = made.network(base), [gold(*ALL), gold(*ALL[:2])]
  params = initial_params(network, jax.random.key(0))
  rows = made.features(processor_for(made, base), some)
  rows = [dataclasses.replace(row, input_ids=[x % 90 for x in row.input_ids]) for row in rows]
  return made, network, params, Running(made).inputs(base, rows, made.sizes, 0)


@pytest.mark.parametrize(("steps", "at_once"), [pytest.param(3, 1, marks=pytest.mark.slow), (2, 2)])
def test_the_surest_names_are_settled_first_and_read_by_the_rest(folder, steps, at_once):
  _, network, params, inputs = of_luke(folder, steps)
  found = np.asarray(apply(network, params, inputs)["logits"])
  at_first = np.asarray(applied(network, params, inputs)["logits"])
  for row, names in enumerate((3, 2)):
    settled, left = np.full((2, 4), -1), set(range(names))
    expected, now = np.zeros((names, 5), np.float32), at_first
    while left:  # one name after the other, as by hand
      shares = {name: np.asarray(jax.nn.softmax(now[row, name])).max() for name in left}
      surest = sorted(left, key=lambda name: -shares[name])
      for name in surest[: at_once if names == 3 else -(-names // steps)]:
        expected[name] = now[row, name]
        best = now[row, name].argmax()
        settled[row, name] = best if best < 4 else -1
        left.remove(name)
      now = np.asarray(applied(network, params, {**inputs, SETTLED: settled})["logits"])
    np.testing.assert_allclose(found[row, :names], expected, atol=1e-5)
  assert np.abs(found - at_first).max() > 1e-2
  broken = params | {
    "none_classifier": jax.tree.map(lambda x: x * np.nan, params["none_classifier"])
  }
  assert np.isnan(apply(network, broken, inputs)["logits"]).any()  # and it ends


def test_a_network_reads_settled_names_as_their_entities(folder):
  made, network, params, inputs = of_luke(folder, 2)
  settled = np.array([[-1, 1, -1, -1], [-1, -1, -1, -1]])
  given = applied(network, params, {**inputs, SETTLED: settled})
  vectors = np.zeros((2, 4, 16), np.float32)
  vectors[0, 1] = inputs[VECTORS][0, 1, 1] @ params["settled_transform"]["kernel"]
  by_hand = LukeEncoder(network.backbone, pooled=False)
  read = {name: x for name, x in inputs.items() if name in LukeConfig().inputs}
  states = by_hand.apply({"params": params["luke"]}, **read, entity_vectors=vectors)
  np.testing.assert_allclose(given["last_hidden_state"], states.words, atol=1e-4)
  np.testing.assert_allclose(given["entity_last_hidden_state"], states.entities, atol=1e-4)
  kept = made.network(network.backbone).head.write(folder)
  assert kept["linking_head"] | {"entity_width": 16, "steps": 2} == kept["linking_head"]


def test_some_names_are_given_as_settled_in_training(folder, monkeypatch):
  made, network, params, inputs = of_luke(folder, 2)
  labels = np.array([[0, 1, 4, IGNORED], [0, 1, IGNORED, IGNORED]])
  batch, read = {**inputs, "labels": labels}, []
  weights = np.where(labels == IGNORED, 0, 0.2).astype(np.float32)

  def outputs(task, backbone, params, batch, key):  # without dropout
    read.append(batch[SETTLED])
    return applied(network, params, {x: batch[x] for x in batch if x != "labels"})

  monkeypatch.setattr(contract, "outputs_of", outputs)
  for seed in range(8):
    loss, _ = made.loss(network.backbone, params, batch, weights, jax.random.key(seed))
    settled = np.asarray(read[-1])
    assert set(settled[labels == 4]) == set(settled[labels == IGNORED]) == {-1}
    given = settled >= 0
    np.testing.assert_array_equal(settled[given], labels[given])
    logits = applied(network, params, {**inputs, SETTLED: settled})
    by_name = [
      np.asarray(network.loss(logits, labels, np.eye(8, dtype=np.float32)[i].reshape(2, 4)))
      for i in np.flatnonzero((labels != IGNORED) & ~given)
    ]
    assert float(loss) == pytest.approx(float(np.mean(by_name)), rel=1e-4)
  assert 0 < sum((x >= 0).sum() for x in read) < 8 * 4


def test_words_alone_have_no_names_to_settle(folder):
  with pytest.raises(InputError, match=r"task.steps: 3; expected 0, for no entity tokens of BERT"):
    task(folder, steps=3).network(backbone(small(BertConfig)))


def test_priors_decide_as_much_as_trust_leaves_and_scores_are_fitted(folder):
  example = gold(*ALL)
  rows = rows_of(task(folder), example)
  logits = np.full((1, 8, 5), -9.0)
  logits[0, :, 1] = 3  # "Ferrier": the second by its prior
  logits[0, (0, 2), 0] = 3

  def said(**settings):
    (links,) = task(folder, **settings).decode([example], rows, {"logits": logits})
    return {x.text: (x.title, x.score) for x in links}

  learnt, prior = said(), said(trust=0.0)
  assert (learnt["Ferrier"][0], prior["Ferrier"][0]) == ("Bo Ferrier", "Ana Ferrier")
  (row,) = rows
  shares = np.append(row.source.priors[1][:2], 0.05)
  assert prior["Ferrier"][1] == pytest.approx(float(shares.max() / shares.sum()), rel=1e-5)
  fitted = said(slope=0.5, offset=-1.0)
  assert {x: y[0] for x, y in fitted.items()} == {x: y[0] for x, y in learnt.items()}
  share = learnt["Ferrier"][1]
  odds = 0.5 * np.log(share / (1 - share)) - 1
  assert fitted["Ferrier"][1] == pytest.approx(1 / (1 + np.exp(-odds)))
  with pytest.raises(InputError, match=r"trust: 1.5; expected a number from 0 to 1"):
    task(folder, trust=1.5)


def test_names_whose_entity_is_taken_out_have_others(folder):
  (row,) = rows_of(task(folder, withhold=True), gold(*ALL))
  for (start, end, title), ids in zip(ALL, row.source.ids.tolist(), strict=True):
    right = Knowledge(folder).id_of(title)
    assert right not in ids and ids[0] != NONE, TEXT[start:end]
  assert set(row.labels[:3].tolist()) == {4}  # none of these
