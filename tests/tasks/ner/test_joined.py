"""Baidu's tables of named entities: characters and tags joined by a control character."""

import pytest

from luke_jax.errors import InputError
from luke_jax.tasks.files import Faults
from luke_jax.tasks.ner.files import read

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
