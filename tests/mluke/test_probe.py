"""Facts as cloze questions: against a plain loop over candidates, and as a user asks them."""

import bz2
import dataclasses
import json

import numpy as np
import pytest
from tiny import tiny_model, tiny_processor

from experiments.mluke import facts, probe
from experiments.mluke.facts import Fact, RelationTemplate, read_relations
from experiments.mluke.probe import ObjectScores, hits, scores
from luke_jax.cli import script
from luke_jax.errors import InputError
from luke_jax.text import TextInput

pytestmark = pytest.mark.slow  # beside the library

OBJECTS = ["Tokyo", "the United States", "Los Angeles", "a", "Rye"]
PAIRS = [("Beyoncé", 2), ("Ana", 0), ("Beyoncé", 1), ("Bo of the North", 3), ("Tokyo", 4)]
FACTS = [Fact(x, OBJECTS[i], x, OBJECTS[i], f"here: {x}") for x, i in PAIRS]
WIDTH = 48


@pytest.fixture(scope="module")
def model():
  return tiny_model()


def one_by_one(model, relation, entities):
  """The scores of every fact's every object, as the words of the rule say, in float64."""
  processor, mask = model.processor, model.tokenizer.special.mask
  rows, places, answers, kept = [], [], [], []
  for fact in relation.facts:
    for object in OBJECTS:
      text = relation.template.replace("[X]", fact.subject).replace("[Y]", object)
      start = relation.template.replace("[X]", fact.subject).index("[Y]")
      if relation.template.index("[Y]") < relation.template.index("[X]"):
        start = relation.template.index("[Y]")
      first = text.index(fact.subject, start + len(object) if start == 0 else 0)
      spans, titles = [(start, start + len(object))], ["[MASK]"]
      known = processor.entity_vocab.contains(fact.subject)
      if entities == "mask" or (entities == "title" and known):
        spans.append((first, first + len(fact.subject)))
        titles.append("[MASK]" if entities == "mask" else fact.subject)
      (row,) = processor.encode([TextInput(text, entity_spans=spans, entities=titles)])
      tokens = np.arange(*row.entity_tokens[0])
      places.append(tokens)
      answers.append(row.input_ids[tokens].copy())
      row.input_ids[tokens] = mask
      rows.append(row)
      kept.append(processor.entity_vocab.contains(object) and processor.entity_vocab.id(object))
  inputs = processor.pad(rows, word_lengths=WIDTH, entity_lengths=2)
  if entities == "none":
    inputs = {name: x for name, x in inputs.items() if not name.startswith("entity")}
  outputs = model(**inputs)
  words = log_shares(outputs["logits"])
  means = [np.mean(words[i, places[i], answers[i]]) for i in range(len(rows))]
  of_entities = [-np.inf] * len(rows)
  if entities != "none":
    shares = log_shares(outputs["entity_logits"])
    of_entities = [-np.inf if id is False else shares[i, 0, id] for i, id in enumerate(kept)]
  return (np.reshape(x, (len(relation.facts), -1)) for x in (means, of_entities))


def log_shares(logits):
  logits = np.asarray(logits, np.float64)
  return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


@pytest.mark.parametrize(
  ("template", "entities"),
  [
    ("[X] lives in [Y] .", "none"),
    ("[Y]: here lives [X]", "title"),  # the subject moves with the number of masks
    ("[X] lives in [Y] .", "mask"),
  ],
)
def test_ranks_are_those_of_a_loop_over_candidates(model, template, entities):
  relation = RelationTemplate("P1", template, FACTS)
  found = scores(model, relation, entities=entities)
  words, of_entities = one_by_one(model, relation, entities)
  columns = found.right[np.argsort([right for _, right in PAIRS])]
  np.testing.assert_allclose(found.words[:, columns], words, rtol=1e-5)
  np.testing.assert_allclose(found.entities[:, columns], of_entities, rtol=1e-5)
  by_words, by_entities = found.ranks
  for number, (_, right) in enumerate(PAIRS):
    order = np.argsort(-words[number]).tolist()
    assert by_words[number] == order.index(right) + 1
  # Two facts about one subject are two facts.
  assert found.words[0].tolist() == found.words[2].tolist() and by_words[0] != by_words[2]
  # Objects that the vocabulary of entities has are ranked, and no others.
  assert (by_entities > 0).tolist() == [entities != "none" and i in (0, 2) for _, i in PAIRS]


def test_of_equal_scores_the_right_one_is_last():
  found = ObjectScores(np.array([[1.0, 2, 1, 1]]), np.full((1, 4), -np.inf), np.array([2]))
  assert [x.tolist() for x in found.ranks] == [[4], [0]]


def test_hits_and_reciprocal_ranks_by_hand():
  assert hits(np.array([1, 0, 4, 20])) == {  # 0 has no rank
    "hits@1": 1 / 3,
    "hits@5": 2 / 3,
    "hits@10": 2 / 3,
    "hits@100": 1,
    "mrr": pytest.approx((1 + 1 / 4 + 1 / 20) / 3),
  }


def test_what_cannot_be_asked(model):
  long = [Fact("Ana " * 70, "Tokyo", "Ana", "Tokyo", "FILE: line 3")]
  with pytest.raises(InputError, match=r"FILE: line 3: .* pieces; expected a sentence that"):
    scores(model, RelationTemplate("P1", "[X] [Y]", long))
  pieces = tiny_processor("word_piece")  # which has none for a control character
  of_pieces = dataclasses.replace(model, processor=pieces, tokenizer=pieces.tokenizer)
  facts = [*FACTS, Fact("Ana", "\u200b", "Ana", "", "FILE: line 4")]
  with pytest.raises(InputError, match=r"FILE: line 4: span \(4, 5\) holds no token"):
    scores(of_pieces, RelationTemplate("P1", "Who [Y] [X]", facts))
  words = tiny_model(entity_vocab_size=0)
  with pytest.raises(InputError, match="entities: mask; expected none, for the model has no"):
    scores(words, RelationTemplate("P1", "[X] [Y]", FACTS), entities="mask")


def lines(*values):
  return "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)


def item(id, label, title, **claims):
  snaks = {
    name: [{"mainsnak": {"snaktype": "value", "datavalue": {"value": {"id": x}}}} for x in values]
    for name, values in claims.items()
  }
  labels = {"en": {"value": label}} if label else {}
  links = {"enwiki": {"title": title}} if title else {}
  return {"id": id, "type": "item", "labels": labels, "claims": snaks, "sitelinks": links}


ITEMS = [
  item("Q1", "Ana", "Ana (singer)", P19=["Q2"], P27=["Q3", "Q4"]),
  item("Q2", None, "Tokyo (city)"),
  item("Q3", "Japan", "Japan", P19=["Q2"]),
  item("Q4", "Nowhere", ""),  # it has no page, so that no fact is about it
]
TEMPLATES = lines(
  {"relation": "P19", "template": "[X] was born in [Y]."},
  {"relation": "P27", "template": "[X] is of [Y]."},
  {"relation": "P36", "template": "[Y] is the capital of [X]."},
)


def dumped(folder, *items):
  path = folder / "dump.json.bz2"
  path.write_bytes(bz2.compress(("[\n" + ",\n".join(map(json.dumps, items)) + "\n]\n").encode()))
  return str(path)


def test_from_wikidata_to_scores(model, tmp_path, capsys):
  (tmp_path / "templates.jsonl").write_text(TEMPLATES)
  model.save(tmp_path / "model")
  made = [dumped(tmp_path, *ITEMS), "--templates", str(tmp_path / "templates.jsonl")]
  folder = tmp_path / "facts"
  assert script(facts.main, "facts", [*made, "--output", str(folder)]) == 0
  assert not (folder / "P36.jsonl").exists()
  born, of = read_relations(folder)
  assert born.template == "[X] was born in [Y]." and len(born.facts) == 2
  assert born.facts[0][:4] == ("Ana", "Tokyo", "Ana (singer)", "Tokyo (city)")
  assert [fact[:2] for fact in of.facts] == [("Ana", "Japan")]
  assert (
    script(facts.main, "facts", [*made, "--output", str(tmp_path / "less"), "--most", "1"]) == 0
  )
  assert [len(x.facts) for x in read_relations(tmp_path / "less")] == [1, 1]
  capsys.readouterr()
  assert (
    script(probe.main, "probe", [str(tmp_path / "model"), str(folder), "--entities", "title"]) == 0
  )
  *table, last = capsys.readouterr().out.splitlines()
  found = json.loads(last)
  assert found["hits@1"] == found["macro_mrr"] == 1  # there is one object in each relation
  assert (found["facts"], found["relations"], found["entity_facts"]) == (3, 2, 0)
  assert "[X] is of [Y]." in "".join(table)


@pytest.mark.parametrize(
  ("name", "content", "told"),
  [
    ("templates.jsonl", "\n", "templates.jsonl: no templates; expected one"),
    ("templates.jsonl", lines({"relation": "P1", "template": "[X] is"}), "expected one [X] and"),
    ("templates.jsonl", lines({"relation": "../a", "template": "[X] [Y]"}), "a name such as P36"),
    ("templates.jsonl", lines({"relation": "P2", "template": "[X] [Y]"}), "no facts; expected"),
    ("P1.jsonl", lines({"sub_label": "Ana"}), "P1.jsonl: line 1: obj_label: missing"),
    ("P1.jsonl", lines({"sub_label": " ", "obj_label": "Rye"}), "line 1: sub_label or obj_label"),
  ],
)
def test_bad_folders_are_told_in_one_line(name, content, told, tmp_path):
  (tmp_path / "templates.jsonl").write_text(lines({"relation": "P1", "template": "[X] [Y]"}))
  (tmp_path / "P1.jsonl").write_text(lines({"sub_label": "Ana", "obj_label": "Rye"}))
  assert len(read_relations(tmp_path)) == 1
  (tmp_path / name).write_text(content)
  with pytest.raises(InputError) as raised:
    read_relations(tmp_path)
  assert told in str(raised.value) and "\n" not in str(raised.value)


def test_dumps_without_facts_are_told_in_one_line(tmp_path, capsys):
  (tmp_path / "t.jsonl").write_text(TEMPLATES)
  options = ["--templates", str(tmp_path / "t.jsonl"), "--output", str(tmp_path / "out")]
  date = item("Q9", "Bo", "Bo")
  date["claims"] = {"P19": [{"mainsnak": {"snaktype": "value", "datavalue": {"value": "+1990"}}}]}
  assert script(facts.main, "facts", [dumped(tmp_path, date), *options]) == 2
  assert "P19 has values that are no items; expected items" in capsys.readouterr().err
  assert script(facts.main, "facts", [dumped(tmp_path, *ITEMS), *options, "--wiki", "xwiki"]) == 2
  assert "no item with a page in xwiki; expected one, see --wiki" in capsys.readouterr().err
  assert script(facts.main, "facts", [dumped(tmp_path, item("Q1", "Ana", "Ana")), *options]) == 2
  assert "no facts of P19, P27, P36; expected some" in capsys.readouterr().err
  assert not (tmp_path / "out").exists()
  (tmp_path / "out").mkdir()
  assert script(facts.main, "facts", [dumped(tmp_path, *ITEMS), *options]) == 2
  assert "out: exists; expected a new folder" in capsys.readouterr().err
