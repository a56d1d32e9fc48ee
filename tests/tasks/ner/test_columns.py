"""Files of columns: which hold words and tags, tags that are repaired, Baidu's joined tables."""

import itertools
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from luke_jax.errors import InputError
from luke_jax.formats.files import Faults
from luke_jax.tasks.ner.documents import Reading
from luke_jax.tasks.ner.files import read, to_columns
from luke_jax.tasks.ner.task import NamedEntities


def written(folder, text, name="a.conll"):
  path = folder / name
  path.write_bytes(text.encode())
  return path


def content(example):
  words = [example.text[start:end] for start, end in example.words]
  names = [(example.text[start:end], label) for start, end, label in example.spans or ()]
  return words, names


def contents(path, reading=Reading()):  # noqa: B008
  return [content(example) for example in read(path, Faults(), reading)]


JOHN, MARY = (["John", "lives"], [("John", "PER")]), (["Mary"], [("Mary", "PER")])
NUMBERED = {
  "sentences from 0": "0\tJohn\tB-PER\n1\tlives\tO\n\n0\tMary\tB-PER\n",
  "sentences from 1": "1 John B-PER\n2 lives O\n\n1 Mary B-PER\n",
  "the file from 0": "0 John B-PER\n1 lives O\n\n2 Mary B-PER\n",
  "the file from 1": "1 John B-PER\n2 lives O\n\n3 Mary B-PER\n",
  "CRLF": "0\tJohn\tB-PER\r\n1\tlives\tO\r\n\r\n0\tMary\tB-PER\r\n",
  "more columns": "1 John NNP B-PER\n2 lives VBZ O\n\n1 Mary NNP B-PER\n",
  "comments": "# id = 1\n# text = O\n1 John B-PER\n2 lives O\n\n# newdoc\n\n# a\n1 Mary B-PER\n",
  "documents": "-DOCSTART- O\n\n1 John B-PER\n2 lives O\n\n-DOCSTART- O\n\n1 Mary B-PER\n",
  "numbered documents": (
    "0 -DOCSTART- O\n\n1 John B-PER\n2 lives O\n\n3 -DOCSTART- O\n\n4 Mary B-PER\n"
  ),
}


@pytest.mark.parametrize("form", NUMBERED)
def test_a_column_that_numbers_the_lines_is_not_read(form, tmp_path):
  path = written(tmp_path, NUMBERED[form])
  with pytest.warns(UserWarning, match="column 2 is read as words, since column 1 numbers"):
    assert contents(path) == [JOHN, MARY]


def test_lines_with_tabs_may_have_spaces_in_words(tmp_path):
  text = "in\xa0it\tO\n\xa0\tO\n\u200b\tO\nNew York\tB-LOC\nis \t\t O\t\n\nBo B-PER\n"
  path = written(tmp_path, text)
  words = ["in\xa0it", "\xa0", "\u200b", "New York", "is"]
  assert contents(path) == [(words, [("New York", "LOC")]), (["Bo"], [("Bo", "PER")])]
  examples = read(path, Faults())
  again = written(tmp_path, "".join(f"{x}\n" for x in to_columns(examples, [[], []])), "b.conll")
  assert contents(again, Reading(columns=("word", "tag", "_"))) == contents(path)
  mixed = written(tmp_path, "New York\tB-LOC\nis not\tO\n", "c.conll")  # columns, all alike
  assert contents(mixed) == [(["New", "is"], [("New", "LOC")])]


def test_an_empty_word_is_a_fault_of_its_line(tmp_path):
  path = written(tmp_path, "John\tB-PER\nlives\tO\n\nMary\tB-PER\n \tO\n\n\tO\n")
  with pytest.raises(InputError, match=r"a.conll: line 5: no word; expected one before the tag"):
    contents(path)
  examples = read(path, faults := Faults(skip=True))
  assert [content(x) for x in examples] == [JOHN]
  assert [str(x).split(": ")[1] for x in faults.found] == ["line 5", "line 7"]


def test_two_columns_may_number_the_lines(tmp_path):
  path = written(tmp_path, "0 1 John B-PER\n1 2 lives O\n\n2 1 Mary B-PER\n")
  with pytest.warns(UserWarning, match="column 3 is read as words, since columns 1 to 2 number"):
    assert contents(path) == [JOHN, MARY]


def test_numbered_words_without_tags(tmp_path):
  with pytest.warns(UserWarning, match="column 2 is read as words"):
    (first, second) = read(written(tmp_path, "1\tJohn\n2\tlives\n\n1\tMary\n"), Faults())
  assert content(first)[0] == JOHN[0] and first.spans is second.spans is None


@pytest.mark.parametrize(
  ("text", "words"),
  [
    ("3 CD O\n4 CD O\n", ["3", "4"]),  # counts, but from 3
    ("0 CD O\n2 CD O\n", ["0", "2"]),
    ("-1 x O\n-2 x O\n", ["-1", "-2"]),
    ("1-2 x O\n1 x O\n", ["1-2", "1"]),
    ("0 O\n1 O\n", ["0", "1"]),  # no other column can be that of the words
    ("0\n1\n2\n", ["0", "1", "2"]),
  ],
)
def test_numbers_that_are_no_count_stay_words(text, words, tmp_path):
  with pytest.warns(UserWarning, match="column 1 is read as words, and holds numbers only"):
    assert contents(written(tmp_path, text)) == [(words, [])]


@pytest.mark.parametrize(
  ("text", "words"),
  [
    ("1 CD O\n\n", ["1"]),  # of one line nothing is proven
    ("1 CD O\nof IN O\n3 CD O\n", ["1", "of", "3"]),
    ("# O\n1 B-X\n", ["#", "1"]),  # a word, for it has a tag
    ("# O\n", ["#"]),
    ("#tag O\n", ["#tag"]),
    ("#\nof\n", ["#", "of"]),
  ],
)
def test_what_is_read_as_before(text, words, tmp_path):
  assert [example[0] for example in contents(written(tmp_path, text))] == [words]


def test_all_sentences_agree_on_a_count(tmp_path):
  path = written(tmp_path, "0 CD O\n1 CD O\n\n0 CD O\n2 CD O\n")
  with pytest.warns(UserWarning, match="column 1 .* numbers only; --columns"):
    assert [words for words, _ in contents(path)] == [["0", "1"], ["0", "2"]]


def test_comments_stand_before_a_sentence_only(tmp_path):
  text = "# text = John lives\nJohn B-PER\nlives O\n\n# a\nMary B-PER\n"
  assert contents(written(tmp_path, text)) == [JOHN, MARY]
  assert contents(written(tmp_path, "# a b\nJohn\nlives\n")) == [(["John", "lives"], [])]
  with pytest.raises(InputError, match="line 2: 4 columns; expected 2, as in the first line"):
    read(written(tmp_path, "John B-PER\n# a b c\n"), Faults())


def test_columns_by_name(tmp_path):
  text = "# sent_id = 1\n1\tJohn\tB-PER\t-\tann\n2\tlives\tO\t-\tann\n\n1\tMary\tB-PER\t-\tann\n"
  path = written(tmp_path, text)
  with pytest.raises(InputError) as found:
    read(path, Faults(skip=True))
  assert str(found.value) == (
    f"{path}: line 2: tag 'ann'; expected O, or one of B- I- M- E- S- and a label; --columns"
    " _,word,tag,_,_ reads column 3 as tags"
  )
  assert contents(path, Reading(columns=("_", "word", "tag", "_", "_"))) == [JOHN, MARY]
  with pytest.raises(InputError, match="line 2: 5 columns; expected 2, as in columns word,tag"):
    read(path, Faults(), Reading(columns=("word", "tag")))
  words = NamedEntities(columns=("_", "word", "_", "_", "_")).read(path, Faults())
  assert [example.spans for example in words] == [None, None]


def test_tags_before_words(tmp_path):
  path = written(tmp_path, "B-PER John\nO lives\n\nB-PER Mary\n")
  with pytest.raises(InputError, match="--columns tag,word "):
    read(path, Faults())
  assert contents(path, Reading(columns=("tag", "word"))) == [JOHN, MARY]


@pytest.mark.parametrize("names", [("tag",), ("word", "word"), ("word", "tag", "tag"), ("wrod",)])
def test_names_that_are_none(names):
  with pytest.raises(InputError, match=r"columns: '.*'; expected word once, tag at most"):
    NamedEntities(columns=names)


def test_a_mixed_file_is_refused(tmp_path):
  path = written(tmp_path, "0 John B-PER\n1 lives O\n\nMary B-PER\n")
  with (
    pytest.warns(UserWarning, match="column 2"),
    pytest.raises(InputError, match="line 4: 2 columns; expected 3, as in the first line"),
  ):
    read(path, Faults())
  faults = Faults(skip=True)
  with pytest.warns(UserWarning, match="column 2"):
    assert list(map(content, read(path, faults))) == [JOHN]
  assert len(faults.found) == 1


def test_a_fault_does_not_hide_the_count_of_the_other_lines(tmp_path):
  path = written(tmp_path, "0 John B-PER\n1 lives O\n\n2 He\n3 left O\n\n4 Mary B-PER\n")
  with pytest.warns(UserWarning, match="column 2"):
    assert list(map(content, read(path, Faults(skip=True)))) == [JOHN, MARY]


WORD = st.text(st.sampled_from("Ab0#.-"), min_size=1, max_size=3)
SENTENCES = st.lists(
  st.lists(st.tuples(WORD, st.sampled_from(["O", "B-X"])), min_size=1), min_size=1
)


@given(SENTENCES, st.integers(0, 1), st.booleans(), st.booleans())
def test_numbers_before_the_lines_change_nothing(tmp_path_factory, sentences, base, whole, bounded):
  if sum(map(len, sentences)) < 2 or (not whole and max(map(len, sentences)) < 2):
    return  # nothing shows that these are numbers of lines
  plain, numbered, numbers = [], [], itertools.count(base)
  for sentence in sentences:
    numbers = numbers if whole else itertools.count(base)
    plain += ["-DOCSTART- O", ""] * bounded
    numbered += ["-DOCSTART- O", ""] * bounded
    plain += [*(f"{word} {tag}" for word, tag in sentence), ""]
    numbered += [*(f"{next(numbers)} {word} {tag}" for word, tag in sentence), ""]
  folder = tmp_path_factory.mktemp("columns")
  with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    one, other = (read(written(folder, "\n".join(text)), Faults()) for text in (plain, numbered))
  assert one == other


WIKIGOLD = "EU I-ORG\nof O\n\nAna B-PER\nRome I-LOC\n\nBob B-PER\nEva B-PER\nHill I-PER\n"


def test_tags_as_conlleval_reads_them(tmp_path):
  path = written(tmp_path, WIKIGOLD)
  with pytest.raises(InputError) as found:
    read(path, Faults())
  assert str(found.value) == (
    f"{path}: line 1: tag 'I-ORG' between 'O' and 'O'; expected B-ORG, as the file's tags are IOB2;"
    " --repair-tags (in training --set task.repair_tags=true) reads it as conlleval does"
  )
  with pytest.warns(UserWarning) as told:
    examples = NamedEntities(repair_tags=True).read(path, Faults())
  assert [content(example)[1] for example in examples] == [
    [("EU", "ORG")],
    [("Ana", "PER"), ("Rome", "LOC")],
    [("Bob", "PER"), ("Eva Hill", "PER")],
  ]
  (warning,) = told
  start = f"{path}: tags read as conlleval reads them: 2, the first in line 1: tag 'I-ORG'"
  assert str(warning.message).startswith(start)


def test_what_is_no_tag_is_never_repaired(tmp_path):
  with pytest.raises(InputError, match="line 2: tag 'LOC'; expected O"):
    read(written(tmp_path, "EU B-ORG\nRome LOC\n"), Faults(), Reading(repair_tags=True))


ROWS = [("海钓比赛地点在厦门", "O O O O O O O B-LOC I-LOC"), ("我去", "O O")]


def write(path, joint="\x02", rows=ROWS):
  joined = (f"{joint.join(text)}\t{joint.join(tags.split())}\n" for text, tags in rows)
  path.write_text("".join(["text_a\tlabel\n", *joined]), encoding="utf-8")
  return path


@pytest.mark.parametrize("joint", ["\x02", "^B"])
def test_a_row_is_a_sentence(tmp_path, joint):
  first, second = read(write(tmp_path / "train.tsv", joint), Faults())
  assert first.text.replace(" ", "") == ROWS[0][0]
  ((start, end, label),) = [(span.start, span.end, span.label) for span in first.spans]
  assert (first.text[start:end].replace(" ", ""), label) == ("厦门", "LOC")
  assert (second.spans, second.lines) == ((), (3,))


def test_a_row_of_other_lengths_is_named(tmp_path):
  path = write(tmp_path / "train.tsv", rows=[*ROWS, ("我去", "O O O")])
  with pytest.raises(InputError, match=r"train\.tsv: line 4: 2 characters and 3 tags; expected"):
    read(path, Faults())
  path.write_text("text_a\tlabel\n我\tO\tO\n", encoding="utf-8")
  with pytest.raises(InputError, match=r"line 2: 3 columns; expected 2: text_a, label"):
    read(path, Faults())
