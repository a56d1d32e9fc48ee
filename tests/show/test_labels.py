"""Labels and numbers of texts, drawn and in the terminal."""

import pytest

from luke_jax.errors import InputError
from luke_jax.show import labels
from luke_jax.show.predictions import shown
from luke_jax.tasks.classification.files import Example
from luke_jax.tasks.predictions import Label, Labels, Number

FOUND = Labels((Label("b<", 0.7),), {"a": 0.1, "b<": 0.7, "c": 0.2})


def test_a_text_and_its_most_probable_labels():
  page = labels("x & y", FOUND, pair="z", count=2).page
  assert '<p dir="auto">x &amp; y</p><p dir="auto">z</p>' in page
  assert page.index("b&lt;</td>") < page.index(">c</td>") and ">a</td>" not in page
  assert "0.700" in page
  with pytest.raises(InputError, match="prediction: a Number; expected labels of a text"):
    labels("x", Number(1.0))


@pytest.mark.parametrize(
  ("prediction", "line"),
  [
    (FOUND, "b< 0.70"),
    (Labels((), {"a": 0.1}), "nothing"),
    (Number(2.34567), "2.346"),
  ],
)
def test_lines_of_the_terminal(prediction, line):
  example = Example("1", "FILE", "one", "two")
  assert shown(example, prediction).plain == f"one\ntwo\n  {line}\n"
