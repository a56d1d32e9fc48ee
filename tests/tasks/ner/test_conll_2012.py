"""Files in the form of OntoNotes 5."""

import re

import pytest

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.tasks.files import Faults
from luke_jax.tasks.ner.files import read

WORDS = "nw/wsj/00 0 {} {} NNP * - - - - {} -\n"


def written(folder, *sentences):
  path = Path(folder / "a.gold_conll")
  rows = ("".join(WORDS.format(i, *x) for i, x in enumerate(rows)) + "\n" for rows in sentences)
  path.write_text(f"#begin document (nw/wsj/00); part 000\n{''.join(rows)}#end document\n")
  return path


def test_brackets_are_names(tmp_path):
  first = [("Ana", "(PERSON*"), ("#", "*"), ("Lopez", "*)"), ("of", "*"), ("Rome", "(GPE)")]
  path = written(tmp_path, first, [("It", "*"), ("rained", "*")])
  path.write_text(path.read_text() + path.read_text())
  examples = read(path, Faults())
  assert [[len(words) for words in x.sentences] for x in examples] == [[5, 2]] * 2
  found = [(examples[1].text[start:end], label) for start, end, label in examples[1].spans]
  assert found == [("Ana# Lopez", "PERSON"), ("Rome", "GPE")]
  assert examples[1].lines == (13, 19)


@pytest.mark.parametrize(
  ("rows", "message"),
  [
    ([("Rome", "*)")], "line 2: name '*)'; expected such as *, (GPE), (GPE* or *)"),
    ([("a", "(GPE*"), ("b", "(GPE)")], "line 3: name '(GPE)'; expected such as"),
    ([("a", "GPE")], "line 2: name 'GPE'; expected such as"),
    ([("a", "(GPE*")], "line 3: the name of 'GPE' has no end; expected ) before"),
  ],
)
def test_brackets_that_do_not_match(tmp_path, rows, message):
  path = written(tmp_path, rows, [("fine", "*")])
  with pytest.raises(InputError, match=re.escape(message)):
    read(path, Faults())
  faults = Faults(skip=True)
  assert [x.text for x in read(path, faults)] == [] and len(faults.found) == 1


def test_lines_that_are_too_short(tmp_path):
  path = written(tmp_path, [("Rome", "(GPE)")])
  path.write_text(path.read_text().replace(" (GPE) -\n", "\n"))
  with pytest.raises(InputError, match="line 2: 10 columns; expected 11 or more"):
    read(path, Faults())
