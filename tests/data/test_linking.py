"""Benchmarks of entity linking as lines of JSON: names with candidates, and their texts."""

import pytest

from data.linking import make
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.formats.files import Faults
from luke_jax.tasks.linking.files import LinkedMention, parse, read, to_json

TABLE = (
  (
    "7 CUP",
    "ANA FERRIER",
    ["1,0.9,Ana Ferrier", "2,0.1,Ferrier, Ohio", "8,0.1,"],
    "0,1,0.9,Ana Ferrier",
  ),
  ("7 CUP", "Ferrier", ["2,0.3,Ferrier, Ohio", "3,0.7,Ferrier (ship)"], "-1,1,Ana Ferrier"),
  ("7 CUP", "nobody", ["2,0.3,Ferrier, Ohio"], "-1,-1,"),
  ("7 CUP", "R&amp;D", ["EMPTYCAND"], "-1,5,R&amp;D (band)"),
  ("A_(b)", "Ohio", ["4,1.0,Ohio"], "0,4,1.0,Ohio"),
  ("9", "Ohio", ["4,1.01,Ohio"], "0,4,1.0,Ohio"),
)
TEXT = """-DOCSTART- (7 CUP)
ANA\tB\tANA FERRIER\tx\tx\t1
FERRIER\tI\tANA FERRIER\tx\tx\t1
of

Ohio\tB\tOhio\tx\tx\t1
and
Ferrier\tB\tFerrier\tx\tx\t1
praised
nobody\tB\tnobody\t--NME--
R&amp;D\tB\tR&amp;D\tx\tx\t1

-DOCSTART- (8 OTHER)
Ohio\tB\tOhio\tx\tx\t1

-DOCSTART- (A_(b)
Ohio\tB\tOhio\tx\tx\t1

-DOCSTART- (9)
Ohio\tB\tOhio\tx\tx\t1
"""


def made(file):
  """The examples in the lines that are made of a file."""
  make.main((file,), output=file.parent / "made")
  return read(file.parent / "made" / f"{file.stem}.jsonl", Faults())


@pytest.fixture
def folder(tmp_path):
  rows = ((id, id, name, "l", "r", "CANDIDATES", *x, "GT:", gold) for id, name, x, gold in TABLE)
  text = "".join("\t".join(row) + "\n" for row in rows)
  (tmp_path / "aida_testB.csv").write_text(text)
  (tmp_path / "testa_testb_aggregate_original").write_text(TEXT)
  return Path(tmp_path)


def test_names_have_their_candidates_and_their_place_in_the_text(folder):
  first, second, third = made(folder / "aida_testB.csv")
  assert (first.id, second.id, third.id, third.text) == ("7", "A_(b)", "9", "Ohio")
  assert third.mentions[0].candidates == (("Ohio", 1.0),)
  assert first.text == "ANA FERRIER of Ohio and Ferrier praised nobody R&amp;D"
  named = [(first.text[x.start : x.end], x.title) for x in first.mentions]
  assert named == [
    ("ANA FERRIER", "Ana Ferrier"),
    ("Ferrier", "Ana Ferrier"),
    ("R&amp;D", "R&D (band)"),
  ]
  assert first.mentions[1].candidates == (("Ferrier (ship)", 0.7), ("Ferrier, Ohio", 0.3))
  assert first.mentions[2].candidates == ()
  assert parse(to_json(first), "7", "a").mentions == first.mentions


def test_a_surname_has_the_candidates_of_full_names_of_persons(folder):
  (folder / "persons.txt").write_text("Ana Ferrier\n")
  first, *_ = made(folder / "aida_testB.csv")
  assert first.mentions[1].candidates == first.mentions[0].candidates
  assert first.mentions[0].candidates == (("Ana Ferrier", 0.9), ("Ferrier, Ohio", 0.1))


def test_candidates_of_several_full_names_are_joined():
  def named(text, *candidates):
    return make.Named(text, "", candidates, "")

  full = [named("Ana Ferrier", ("A", 0.8), ("B", 0.2)), named("Bo Ferrier", ("B", 1.0))]
  *_, short, part = make.with_full_names(
    [*full, named("Ferrier", ("C", 1.0)), named("Ferr", ("D", 1.0))], {"A", "B", "C"}
  )
  assert dict(short.candidates) == pytest.approx({"B": 0.6, "A": 0.4})
  assert part.candidates == (("D", 1.0),)


@pytest.mark.parametrize(
  ("line", "fault"),
  [
    ("7\t7\tAna", "line 1: 3 fields with tabs"),
    (
      "7\t7\tOhio\tl\tr\tCANDIDATES\tx,y\tGT:\t0,1,.5,A",
      "candidate 'x,y'; expected id,prior,title",
    ),
    ("7\t7\tOhio\tl\tr\tCANDIDATES\tEMPTYCAND\tGT:\tOhio", "'Ohio'; expected index,id"),
    ("7\t7\tOslo\tl\tr\tCANDIDATES\tEMPTYCAND\tGT:\t-1,1,A", "line 1: 'Oslo': not in the text"),
    ("5\t5\tOslo\tl\tr\tCANDIDATES\tEMPTYCAND\tGT:\t-1,1,A", "no document 5; expected it"),
  ],
)
def test_what_is_wrong_is_named(folder, line, fault):
  (folder / "aida_testB.csv").write_text(line + "\n")
  with pytest.raises(InputError, match=fault):
    made(folder / "aida_testB.csv")


def test_another_table_is_refused(tmp_path):
  (tmp_path / "names.csv").write_text("a,b\n")
  with pytest.raises(InputError, match=r"expected one of aida_train\.csv, "):
    made(Path(tmp_path) / "names.csv")


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
  (example,) = made(file)
  assert example.text == "The New Castrel, it"
  assert example.mentions == (LinkedMention(4, 15, "New Castrel, A"),)
  file.write_text(GUM.replace("Entity=1)", "Entity=3)"), encoding="utf-8")
  with pytest.raises(InputError, match="document d1: word 3: '3\\)'; expected a mention to close"):
    made(file)
