"""Texts with names and facts in every form of file, and what is wrong in them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from marked_tasks import written

from luke_jax.errors import InputError
from luke_jax.formats.files import Faults
from luke_jax.inference.triples import dates_in
from luke_jax.tasks.facts.files import FactsExample, Holds, NameOfText, parse, read, to_json

TEXT = "Ana Lund joined Orca. Lund was born in 1963."
GOOD = {"text": TEXT, "names": [[0, 8, "PER"], [16, 20, "ORG"]], "facts": [[0, 1, "member of"]]}


def test_names_may_be_spans_or_words_or_objects_with_all_their_mentions():
  forms = (
    [[0, 8, "PER"], [16, 20, "ORG"]],
    [["Ana Lund", "PER"], ["Orca", "ORG"]],
    [{"label": "PER", "mentions": [[0, 8]]}, {"label": "ORG", "mentions": ["Orca"]}],
  )
  every = [parse({**GOOD, "names": names}, "1", "here") for names in forms]
  assert every[0] == every[1] == every[2]
  assert every[0].names[0] == NameOfText(((0, 8),), "PER")
  assert every[0].facts == (Holds(0, 1, "member of"),)


def test_spans_with_the_same_words_and_type_are_one_name():
  names = [[0, 3, "PER"], [4, 8, "PER"], [22, 26, "PER"], [39, 43, "TIME"]]
  example = parse({"text": TEXT, "names": names, "facts": [[2, 3, "born"]]}, "1", "here")
  assert [x.mentions for x in example.names] == [((0, 3),), ((4, 8), (22, 26)), ((39, 43),)]
  assert example.facts == (Holds(1, 2, "born"),)


def test_facts_are_inside_where_a_sentence_has_both_names():
  names = [{"label": "PER", "mentions": [[0, 8], [22, 26]]}, [16, 20, "ORG"], [39, 43, "TIME"]]
  example = parse({"text": TEXT, "names": names, "facts": []}, "1", "here")
  assert example.inside(Holds(0, 2, "born")) and not example.inside(Holds(1, 2, "since"))


DOC_RED = {
  "title": "Lund",
  "sents": [["Ana", "Lund", "(", "1963", ")", "sings", "."], ["She", "left", "Orca", "."]],
  "vertexSet": [
    [{"name": "Ana Lund", "sent_id": 0, "pos": [0, 2], "type": "PER"}],
    [{"name": "1963", "sent_id": 0, "pos": [3, 4], "type": "TIME"}],
    [{"name": "Orca", "sent_id": 1, "pos": [2, 3], "type": "ORG"}],
  ],
  "labels": [{"h": 0, "t": 1, "r": "P569", "evidence": [0]}],
}


def test_documents_of_doc_red(tmp_path):
  path = tmp_path / "dev.json"
  path.write_text(json.dumps([DOC_RED]))
  (example,) = read(path, Faults())
  named = [[example.text[slice(*x)] for x in name.mentions] for name in example.names]
  assert named == [["Ana Lund"], ["1963"], ["Orca"]]
  assert example.facts == (Holds(0, 1, "P569"),) and len(example.sentences) == 2
  assert example.places == [{0}, {0}, {1}]


def test_pairs_of_a_spreadsheet_are_joined_by_their_text(tmp_path):
  path = tmp_path / "pairs.csv"
  rows = ("Ana married Bo in Rom.,Ana,Bo,spouse", "Ana married Bo in Rom.,Ana,Rom,no_relation")
  path.write_text("\n".join(("text,head,tail,label", *rows)) + "\n")
  (example,) = read(path, Faults())
  assert [example.text[slice(*x.mentions[0])] for x in example.names] == ["Ana", "Bo", "Rom"]
  assert example.facts == (Holds(0, 1, "spouse"),)
  assert {x[:2] for x in example.unknown} == {(1, 0), (1, 2), (2, 0), (2, 1)}


@pytest.mark.parametrize(
  ("change", "fault"),
  [
    ({"names": [[0, 99, "PER"]]}, "here: names: [0, 99]; expected 0 <= start < end <= 44"),
    ({"names": [[3, 3]]}, "here: names: [3, 3]; expected 0 <= start"),
    ({"names": ["Ana"]}, "here: names: 'Ana'; expected [start, end, type]"),
    ({"names": [["Eva", "PER"]]}, "here: names: 'Eva': not in the text"),
    ({"names": [{"mentions": []}]}, "here: names: {'mentions': []}; expected"),
    ({"names": None}, "here: names: None; expected a list"),
    ({"facts": [[0, 2, "x"]]}, "here: facts: [0, 2, 'x']; expected [head, tail, label]"),
    ({"facts": [[0, 1]]}, "here: facts: [0, 1]; expected"),
    ({"facts": [[0, 0, "x"]]}, "here: facts: [0, 0, 'x']: one name; expected two"),
    ({"facts": [[0, 1, ""]]}, "here: facts: [0, 1, '']; expected"),
    ({"unknown": [[0]]}, "here: unknown: [0]; expected"),
    ({"nmaes": []}, "here: nmaes: no such field; expected perhaps names"),
    ({"text": 3}, "here: text: 3; expected a string"),
  ],
)
def test_faults_are_a_line(change, fault):
  with pytest.raises(InputError) as raised:
    parse({**GOOD, **change}, "1", "here")
  assert str(raised.value).startswith(fault) and "\n" not in str(raised.value)


def test_without_names_there_is_a_way_to_say_them():
  with pytest.raises(InputError, match=r"here: no names; expected names, as \[\[0, 3"):
    parse({"text": TEXT}, "1", "here")


def test_names_that_are_too_many_are_refused():
  with pytest.raises(InputError, match="names: 10001; expected at most 10000"):
    parse({"text": TEXT, "names": [[0, 8, "PER"]] * 10_001}, "1", "here")


spans = st.tuples(st.integers(0, 40), st.integers(1, 4)).map(lambda x: (x[0], x[0] + x[1]))
names = st.lists(spans, min_size=1, max_size=3, unique=True).map(lambda x: tuple(sorted(x)))


@given(st.data())
def test_what_is_written_is_read(data):
  every = data.draw(
    st.lists(st.builds(NameOfText, names, st.sampled_from(["", "PER"])), min_size=2)
  )
  numbers = st.integers(0, len(every) - 1)
  pairs = st.tuples(numbers, numbers).filter(lambda x: x[0] != x[1])
  facts = data.draw(st.none() | st.lists(pairs.map(lambda x: Holds(*x, "r")), max_size=4))
  unknown = data.draw(st.lists(pairs.map(lambda x: Holds(*x)), max_size=2))
  told = None if facts is None else tuple(facts)
  example = FactsExample("7", "here", TEXT, tuple(every), told, tuple(unknown), ((0, 21), (22, 44)))
  value = json.loads(json.dumps(to_json(example)))
  assert parse(value, value["id"], "here") == example


json_values = st.recursive(
  st.none() | st.booleans() | st.integers(-2, 50) | st.text(max_size=3),
  lambda x: st.lists(x, max_size=4) | st.dictionaries(st.sampled_from([*GOOD, "mentions"]), x),
  max_leaves=12,
)


@given(st.dictionaries(st.sampled_from([*GOOD, "unknown", "sentences", *DOC_RED]), json_values))
def test_anything_is_read_or_refused_in_a_line(value):
  try:
    parse({"text": TEXT, "names": [], **value}, "1", "here")
  except InputError as fault:
    assert "\n" not in str(fault)


def test_lines_of_a_file_have_faults_with_their_place(tmp_path):
  path = written(tmp_path / "a.jsonl", [GOOD, {**GOOD, "facts": [[0, 5, "x"]]}])
  with pytest.raises(InputError, match="line 2: facts"):
    read(path, Faults())


@pytest.mark.parametrize(
  ("text", "found"),
  [
    ("She was born on 13 March 1963 in Rom.", ["13 March 1963"]),
    ("From March 4, 1801, to 1809 he ruled.", ["March 4, 1801", "1809"]),
    ("In the 1990s, and on 2001-09-11.", ["1990s", "2001-09-11"]),
    ("It has 1200 seats? No: 12,000 and 3.1415 of them, or 1500.5.", ["1200"]),
    ("May I? Marching on.", []),
    ("", []),
  ],
)
def test_dates_that_are_written_out_are_found(text, found):
  assert [text[slice(*x)] for x in dates_in(text)] == found
