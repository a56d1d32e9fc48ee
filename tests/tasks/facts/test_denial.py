"""What a sentence denies is no fact, as far as the words that deny it reach."""

import re
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from luke_jax.errors import InputError
from luke_jax.tasks.facts.denial import Denials
from luke_jax.tasks.facts.files import FactsExample, NameOfText
from luke_jax.tasks.facts.task import Facts


def example(text, *names):
  """A text, and every place of each of its names."""
  every = [tuple(x.span() for x in re.finditer(re.escape(name), text)) for name in names]
  return FactsExample("1", "here", text, tuple(map(NameOfText, every)))


@pytest.mark.parametrize(
  "text",
  [
    "Ana has never lived in Rome.",
    "Ana didn't join Rome.",
    "Ana did not, as planned, move to Rome.",
    "Is Ana from Rome?",
    '"Was Ana born in Rome?"',
    "Ana was by no means born in Rome.",
    "It is false that Ana never slept, and that she owned Rome.",
    "Ana refused to move to Rome.",
    "Ana would have studied in Rome.",
    "Ana very nearly moved to Rome.",
    "Ana lives in Oslo instead of Rome.",
    "It is not true that Ana, who is a baker, is from Rome.",
    "Nobody could show that Ana was born in Rome.",
    "Some believe that Ana, a baker, owns Rome.",
    "Ana founded Rome, or so they say.",
    "Ana bought Rome, according to a rumour.",
    "Ana no longer lives in Rome.",
    "Ana and her former husband Rome are here.",
    "Neither Ana nor Bo is from Rome.",
    "If Ana is from Rome, she will know.",
    "Ana is said to own Rome. Ana may have sold Rome.",
  ],
)
def test_what_a_sentence_denies(text):
  denials = Denials(example(text, "Ana", "Rome"))
  assert denials(0, 1) and denials(1, 0)


@pytest.mark.parametrize(
  "text",
  [
    "Ana was born in Rome.",
    "Ana, who never married, died in Rome.",
    "Ana never married and died in Rome.",
    "There is no doubt that Ana was born in Rome.",
    "Ana (not to be confused with Bo) is from Rome.",
    "Ana not only lived in Rome.",
    "Ana did not join Rome; Ana runs Rome.",  # of two in a sentence, the nearest mentions tell
    "Ana has never lived in Rome. Ana was born in Rome.",
    "Ana did not stay, but she was born in Rome.",
    "Ana is from Rome, where nobody was ever bored.",
    "Bo never came. Ana was born in Rome.",
    "Not everyone noticed it: Ana was born in Rome.",
    "Ana lived in Oslo. Never was Rome so far.",  # no sentence has both
  ],
)
def test_what_it_does_not(text):
  assert not Denials(example(text, "Ana", "Rome"))(0, 1)


def test_a_word_of_a_name_denies_nothing():
  assert not Denials(example("Never Say Never was sung by Ana.", "Never Say Never", "Ana"))(0, 1)


def test_what_is_over_denies_what_ends():
  denials = Denials(example("The former minister Ana was born in Rome.", "Ana", "Rome"))
  assert denials(0, 1, "residence") and not denials(0, 1, "place of birth")


@pytest.mark.parametrize(
  "where", ["near", "just outside", "10 km from", "just north-east of", "in", "in the north of"]
)
def test_beside_a_place_is_not_in_it(where):
  denials = Denials(example(f"Ana was born {where} Rome.", "Ana", "Rome"))
  assert denials(0, 1, "place of birth") == (not where.startswith("in"))
  assert not denials(0, 1, "country")


def test_a_title_beside_a_denial_hides_nothing():
  text = "It is not true that Never Land was written by Ana."
  assert Denials(example(text, "Never Land", "Ana"))(0, 1)
  assert not Denials(example("Ana sang Never Land in Rome.", "Ana", "Rome", "Never Land"))(0, 1)


def test_a_task_of_a_language_gives_no_denied_facts():
  text = "Ana has never lived in Rome. Bo lives in Rome."
  read = example(text, "Ana", "Bo", "Rome")
  row = type("Row", (), {"example": 0, "source": [0, 1, 2]})
  logits = np.full((3, 3, 1), -9.0)
  logits[0, 2] = logits[1, 2] = 9
  for language, heads in (("", ["Ana", "Bo"]), ("en", ["Bo"])):
    task = Facts(labels=("residence",), language=language)
    (facts,) = task.decode([read], [row], {"logits": [logits]})
    assert sorted(x.head.text for x in facts) == heads
  with pytest.raises(InputError, match="language: 'de'; expected en, or none"):
    Facts(language="de")


@given(
  st.lists(st.sampled_from(["not ", "never", " that", ";", ", and ", "ex-", "? ", ". ", "x"])).map(
    "".join
  )
)
def test_any_text_is_read(text):
  read = example(f"Ana {text} Rome", "Ana", "Rome")
  assert Denials(read)(0, 1) in (True, False)


@pytest.mark.parametrize(
  "word", ["not ", "denied ", "would ", "no ", "rumour a ", "is said ", "if, and "]
)
def test_time_grows_with_the_text_alone(word):
  """In one sentence, however long."""
  times = []
  for count in (4_000, 16_000):
    text = f"Ana {word * count}Rome"
    read = FactsExample(
      "1", "", text, example(text, "Ana", "Rome").names, (), (), ((0, len(text)),)
    )
    start = time.process_time()
    Denials(read)(0, 1)
    times.append(time.process_time() - start)
  assert times[1] < 10 * times[0] + 0.05
