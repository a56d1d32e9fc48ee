"""Tokens lose no character, and a name's text has the same tokens wherever it stands."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from luke_jax.wiki.stages.tokens import (
  TOKEN,
  Names,
  folded_token,
  name_hashes,
  name_of,
  token_hashes,
  write_names,
)

SCRIPTS = st.sampled_from("aZ9é́ß'-_ \t\n\u2028.İıſΣς東ターไทเ่ी्हि\u200dاّ€𝒜𠀀가")
TEXTS = st.one_of(st.text(), st.text(SCRIPTS))


@given(TEXTS)
def test_tokens_are_all_that_is_no_space(text):
  tokens = TOKEN.findall(text)
  assert "".join(tokens).replace("\n", "") == "".join(text.split())
  assert tokens.count("\n") == text.count("\n")


@given(TEXTS, st.data())
def test_a_part_has_the_tokens_of_the_whole(text, data):
  spans = [match.span() for match in TOKEN.finditer(text)]
  first = data.draw(st.integers(0, len(spans)))
  last = data.draw(st.integers(first, len(spans)))
  if first < last:
    part = text[spans[first][0] : spans[last - 1][1]]
    assert TOKEN.findall(part) == TOKEN.findall(text)[first:last]


@given(TEXTS)
def test_hashes_are_those_of_the_name(text):
  name = name_of(text, 1000)
  if name is not None:
    assert token_hashes(TOKEN.findall(text)).tolist() == name_hashes(name)
    assert len(name.split()) == len(name.split(" ")) == len(TOKEN.findall(text))


@pytest.mark.parametrize(
  "text, name",
  [
    ("New  York, N.Y.", "new york , n . y ."),
    ("Beyoncé's", "beyonce ' s"),
    ("Beyonce\u0301’s", "beyonce ’ s"),
    ("Łódź", "łodz"),
    ("Άθήνα", "αθηνα"),
    ("İstanbul", "istanbul"),
    ("東京Tower", "東 京 tower"),
    ("タワー", "タ ワ ー"),
    ("हिन्दी", "हिन्दी"),
    ("대한민국", "대한민국"),
    ("a_b", "a _ b"),
    ("\u0301", "\u0301"),
    (" ", None),
    ("New\nYork", None),
    ("a b c d", None),
  ],
)
def test_names(text, name):
  assert name_of(text, 3 if name is None else 20) == name


@given(text=st.text("ab ", max_size=30), texts=st.sets(st.text("ab ", min_size=1, max_size=9)))
def test_matches_are_those_of_a_search_by_hand(text, texts, tmp_path_factory):
  names = sorted({name for name in (name_of(x, 20) for x in texts) if name})
  folder = tmp_path_factory.mktemp("names")
  write_names(folder, names)
  table = Names(folder)
  tokens = [folded_token(token) for token in TOKEN.findall(text)]
  expected = {
    (start, stop - start, names.index(" ".join(tokens[start:stop])))
    for start in range(len(tokens))
    for stop in range(start + 1, len(tokens) + 1)
    if " ".join(tokens[start:stop]) in names
  }
  found = list(zip(*(x.tolist() for x in table.matches(token_hashes(tokens))), strict=True))
  assert len(found) == len(set(found))
  assert set(found) == expected
