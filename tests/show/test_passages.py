import pytest

from luke_jax.errors import InputError
from luke_jax.show import answers
from luke_jax.tasks.predictions import Answer

TEXT = "Ana <b> was born in Oslo, Norway, and lives in Bergen."
FOUND = [
  Answer("Oslo", 20, 24, 0.6),
  Answer("Oslo, Norway", 20, 32, 0.3),
  Answer("", 0, 0, 0.06),
  Answer("Bergen", 47, 53, 0.03),
  Answer("Ana", 0, 3, 0.01),
]


def test_the_best_is_marked_and_all_are_listed(read):
  picture = answers(TEXT, "Where was <Ana> born?", FOUND, count=4)
  told = read(picture.page)
  assert "Where was <Ana> born?" in told.text and TEXT[:24] in told.text
  marks = [mark["style"] for mark in told.named("mark")]
  assert [style.partition("--share: ")[2] for style in marks] == ["1.00", "0.20"]
  for line in ("1  Oslo", "0.600", "2  Oslo, Norway", "3  (no answer)", "4  Bergen", "0.030"):
    assert line in told.text
  assert "5  Ana" not in told.text


def test_an_answer_that_stands_in_several_places_is_one(read):
  found = [Answer("an", 1, 3, 0.5), Answer("an", 38, 40, 0.3), Answer("Oslo", 20, 24, 0.2)]
  text = "Lan <b> was born in Oslo, Norway, lan and lives."
  told = read(answers(text, "Who?", found, count=2).html)
  assert len(told.named("mark")) == 2
  assert "1  an" in told.text and "2  Oslo" in told.text


def test_a_gap_is_shown_in_its_query(read):
  told = read(answers(TEXT, "Ana was born in @placeholder.", FOUND).html)
  assert told.named("span", class_="gap") and "@placeholder" not in told.text


@pytest.mark.parametrize("found", [[], [Answer("", 0, 0, 1.0)], [Answer("Ana", 0, 3, 0.0)]])
def test_no_answer_leaves_the_passage(found, read):
  assert "lives in Bergen." in read(answers(TEXT, "Who?", found).html).text


def test_answers_of_another_text_are_refused():
  with pytest.raises(InputError, match="answers: span 0 is"):
    answers("short", "Where?", FOUND)
  with pytest.raises(InputError, match="count: 0"):
    answers(TEXT, "Where?", FOUND, count=0)
