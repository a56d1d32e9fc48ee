"""Rows of documents against the rules told the slow way, and by hand."""

import dataclasses
import itertools
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import tiny_processor

from luke_jax.errors import InputError
from luke_jax.formats.files import Faults
from luke_jax.nn.losses import IGNORED
from luke_jax.tasks.ner.documents import of_words
from luke_jax.tasks.ner.features import (
  CandidateLimits,
  check_learnable,
  features,
  marks,
  missed_entities,
  shares,
  window,
  windows,
)
from luke_jax.tasks.ner.files import parse
from luke_jax.tasks.ner.task import NamedEntities
from luke_jax.tasks.running import fitted
from luke_jax.text import TextInput

WORD = st.text(st.sampled_from("abEU'.é"), min_size=1, max_size=5)
DOCUMENT = st.lists(st.lists(WORD, min_size=1, max_size=9), max_size=6)
PROCESSOR = dataclasses.replace(tiny_processor(), task="entity_span_classification")
WORDS_ONLY = dataclasses.replace(PROCESSOR, entity_reading="none")


def rows_of(
  examples, *, room=512, entities=128, labels=("NIL", "X"), faults=None, of=PROCESSOR, **limits
):
  limits = CandidateLimits(
    **({"words": 16, "pieces": None, "context": True, "window": 512} | limits)
  )
  sized = dataclasses.replace(of, max_length=room, max_entity_length=entities)
  return features(sized, examples, limits, labels=labels, faults=faults or Faults())


def pieces_of(example):
  """The pieces of every word, each with the space before it."""
  spaced = [
    example.text[start - 1 : end] if example.text[max(start - 1, 0)] == " " else ""
    for start, end in example.words
  ]
  texts = [s or example.text[a:b] for s, (a, b) in zip(spaced, example.words, strict=True)]
  return [tokens.ids for tokens in PROCESSOR.tokenizer.encode(texts)]


def joined(pieces):
  return list(itertools.chain.from_iterable(pieces))


def told(example, limits):
  """Every span of words of a sentence that is short enough."""
  pieces, last, found = pieces_of(example), 0, []
  for sentence in example.sentences:
    first, last = last, last + len(sentence)
    for start, end in itertools.combinations(range(first, last + 1), 2):
      length = sum(map(len, pieces[start:end]))
      if end - start <= limits["words"] and length <= (limits["pieces"] or length):
        found.append((start, end))
  return found


LIMITS = st.fixed_dictionaries(
  {"words": st.integers(1, 4), "pieces": st.sampled_from([None, 1, 3, 6]), "context": st.booleans()}
)


@given(DOCUMENT, LIMITS, st.integers(1, 9), st.sampled_from([30, 40, 70, 512]))
def test_every_candidate_is_in_one_row(sentences, limits, entities, room):
  example = of_words("1", "here", sentences)
  rows = rows_of([example], room=room, entities=entities, **limits)
  pieces = pieces_of(example)
  special = PROCESSOR.tokenizer.special
  found = []
  for row in rows:
    found += map(tuple, row.source.tolist())
    assert len(row.input_ids) <= room
    assert 0 < len(row.entity_ids) == len(row.entity_tokens) <= entities
    assert set(row.entity_ids.tolist()) == {PROCESSOR.entity_vocab.mask_id}
    assert (row.input_ids[0], row.input_ids[-1]) == (special.start, special.end)
    for (start, end), (first, last) in zip(row.source, row.entity_tokens, strict=True):
      assert row.input_ids[first:last].tolist() == joined(pieces[start:end])
  assert found == told(example, limits)


def in_rows(rows):
  """The candidates of rows, each with its places in the row's pieces."""
  return [
    (tuple(span), row, tuple(tokens))
    for row in rows
    for span, tokens in zip(row.source.tolist(), row.entity_tokens.tolist(), strict=True)
  ]


def common(room):
  """The word pieces that two windows have in common."""
  return min(room // 2, max(room // 4, 16))


@given(DOCUMENT, LIMITS, st.sampled_from([30, 40, 70, 512]))
def test_a_system_without_entity_tokens_reads_every_candidate_once(sentences, limits, room):
  example = of_words("1", "here", sentences)
  rows = rows_of([example], room=room, of=WORDS_ONLY, **limits)
  pieces = pieces_of(example)
  first = [0, *itertools.accumulate(map(len, pieces))]
  ends = list(itertools.accumulate(map(len, sentences), initial=0))
  stretches = [ends[0], ends[-1]] if limits["context"] else ends
  longest = max((first[b] - first[a] for a, b in itertools.pairwise(stretches)), default=0)
  most = room - 2 if longest <= room - 2 else common(room - 2)
  found = in_rows(rows)
  assert sorted(span for span, _, _ in found) == [
    (a, b) for a, b in told(example, limits) if first[b] - first[a] <= most
  ]
  assert all(len(row.input_ids) <= room for row in rows)
  for (start, end), row, (left, right) in found:
    assert row.input_ids[left:right].tolist() == joined(pieces[start:end])


@given(st.integers(0, 3000), st.integers(6, 510))
def test_windows_cover_a_text_and_have_as_much_in_common_as_they_need(length, room):
  starts, width = windows(length, room)
  shared = common(room)
  assert (starts[0], starts[-1] + width) == (0, length) and width <= room
  assert all(0 < after - before <= width - shared for before, after in itertools.pairwise(starts))
  # One less would leave some of the text out.
  assert len(starts) == 1 or length > (len(starts) - 1) * (room - shared) + shared


def test_a_page_is_read_once():
  """In as many rows as its words fill, with words on both sides of each candidate."""
  example = of_words("1", "here", [["Ana", "lives", "in", "Los", "."]] * 300)
  rows = rows_of([example], of=WORDS_ONLY, window=128)
  pieces = sum(map(len, pieces_of(example)))
  assert sum(len(row.input_ids) for row in rows) < 1.4 * pieces + 128
  shown = {}
  for span, row, (left, right) in in_rows(rows):
    shown[span] = min(left, len(row.input_ids) - right)
  inner = [aside for (start, end), aside in shown.items() if start > 50 and end < 1450]
  assert min(inner) > 10


@pytest.mark.parametrize("context", [True, False])
def test_a_text_that_fits_is_read_as_each_of_its_sentences_was(context):
  example = of_words("1", "here", [["Ana", "sings", "."], ["So", "does", "Ben", "."]])
  before = rows_of([example], context=context)
  rows = rows_of([example], context=context, of=WORDS_ONLY, entities=1)
  assert len(rows) == (1 if context else 2)  # and not one for each share of the candidates
  assert {row.input_ids.tobytes() for row in rows} == {row.input_ids.tobytes() for row in before}
  assert {(span, tokens) for span, _, tokens in in_rows(rows)} == {
    (span, tokens) for span, _, tokens in in_rows(before)
  }


def test_a_word_that_is_longer_than_a_window_is_no_candidate():
  example = of_words("1", "here", [["Ana"], ["b", "é!" * 400, "c"], ["Ben"]])
  rows = rows_of([example], room=64, of=WORDS_ONLY)
  assert sorted(span for span, _, _ in in_rows(rows)) == [(0, 1), (1, 2), (3, 4), (4, 5)]


NASTY = {
  "sentences": "Ana of Los sings. ",
  "a word": "a",
  "spaces": " ",
  "signs": "é!",
  "an address": "a1b/c_d-",
  "names": "Ana ",
}


@pytest.mark.parametrize("again", NASTY.values(), ids=NASTY)
def test_a_long_text_is_made_rows_of_in_linear_time(again):
  """A megabyte in 1 to 4 seconds on an idle core of 2023; what is quadratic takes minutes."""
  text = again * (200_000 // len(again.encode()))
  start = time.process_time()
  rows = rows_of([parse({"text": text}, "1", "here")], of=WORDS_ONLY)
  assert time.process_time() - start < 8
  assert sum(len(row.input_ids) for row in rows) < 1.5 * len(text.encode())


def around(sentence, before, after, room):
  """How many pieces of a document stand before and after a sentence in its window."""
  half = (room - sentence) // 2
  if before < after:
    left = min(before, half)
    return left, min(after, room - sentence - left)
  right = min(after, half)
  return min(before, room - sentence - right), right


@given(DOCUMENT, st.sampled_from([50, 80, 512]), st.booleans())
def test_windows_of_sentences(sentences, room, context):
  example = of_words("1", "here", sentences)
  rows = rows_of([example], room=room, context=context)
  pieces = pieces_of(example)
  flat = joined(pieces)
  last, expected = 0, []
  for sentence in sentences:
    start, last = last, last + len(sentence)
    begin, end = sum(map(len, pieces[:start])), sum(map(len, pieces[:last]))
    if end - begin > room - 2:
      return  # the next test is about these
    left, right = around(end - begin, begin, len(flat) - end, room - 2) if context else (0, 0)
    expected.append(flat[begin - left : end + right])
  found = [row.input_ids[1:-1].tolist() for row in rows]
  assert [ids for ids, _ in itertools.groupby(found)] == [
    ids for ids, _ in itertools.groupby(expected)
  ]


def test_a_sentence_longer_than_the_window_has_several():
  sentence = ["a"] * 200
  example = of_words("1", "here", [["Before", "."], sentence, ["After", "."]])
  rows = rows_of([example], room=64, entities=1000)
  of_sentence = [row for row in rows if 2 <= row.source[0][0] < 202]
  assert len(of_sentence) == 4
  assert all(len(row.input_ids) == 64 for row in of_sentence)
  starts = [row.source[:, 0] for row in of_sentence]
  assert all(a.max() + 1 == b.min() for a, b in itertools.pairwise(starts))
  assert sum(len(row.source) for row in of_sentence) == 16 * 200 - sum(range(16))


@pytest.mark.parametrize(
  ("target", "length", "expected"),
  [
    ((40, 50), 100, (10, 80)),  # in the middle
    ((0, 10), 100, (0, 70)),  # nothing before it: all the room after
    ((5, 15), 100, (0, 70)),
    ((90, 100), 100, (30, 100)),
    ((0, 5), 30, (0, 30)),
    ((10, 80), 100, (10, 80)),  # as long as the window
    ((41, 50), 90, (10, 80)),  # of an odd piece the longer side has more
    ((41, 50), 92, (11, 81)),
  ],
)
def test_windows_by_hand(target, length, expected):
  assert window(target, length, 70) == expected


def test_shares():
  assert [(x.start, x.stop) for x in shares(3, 260 + 3, 128)] == [(3, 90), (90, 177), (177, 263)]
  assert [(x.start, x.stop) for x in shares(0, 128, 128)] == [(0, 128)]
  assert list(shares(5, 5, 128)) == []


@given(st.integers(0, 2000), st.integers(1, 200))
def test_shares_are_even_and_few(count, room):
  sizes = [x.stop - x.start for x in shares(7, 7 + count, room)]
  assert sum(sizes) == count and len(sizes) == -(-count // room)
  assert all(size == sizes[0] for size in sizes[:-1])
  assert not sizes or 0 < sizes[-1] <= sizes[0] <= room


def test_labels():
  example = parse(
    {
      "tokens": ["Ana", "of", "Los", "Angeles", "is"],
      "spans": [[0, 1, "PER"], [2, 4, "LOC"], [3, 4, "?"]],
    },
    "1",
    "here",
  )
  (row,) = rows_of([example], labels=("NIL", "LOC", "PER"))
  labels = {tuple(span): label for span, label in zip(row.source, row.labels, strict=True) if label}
  assert labels == {(0, 1): 2, (2, 4): 1, (3, 4): IGNORED}


@pytest.mark.parametrize("limits", [{"words": 2}, {"pieces": 2}])
def test_entities_out_of_reach_are_told(limits):
  tokens = ["aa", "bb", "cc", "dd"]
  value = {"tokens": tokens, "sentences": [[0, 3], [3, 4]]}
  value["spans"] = [[0, 3, "X"], [2, 4, "X"]]
  with pytest.warns(UserWarning, match="2 of 2 entities cannot be found: longer than"):
    rows = rows_of([parse(value, "1", "here")], **limits)
  assert not any(row.labels.any() for row in rows)


def test_edges_inside_a_word_are_out_of_reach():
  with pytest.warns(UserWarning, match="1 of 2 entities cannot be found: longer than 16 words, or"):
    rows_of([parse({"text": "abc de", "spans": [[0, 2, "X"], [4, 6, "X"]]}, "1", "here")])


def test_a_word_that_is_longer_than_a_row(tmp_path):
  long = of_words("1", "f: line 1", [["a"], ["b", "é!" * 40]])
  long = dataclasses.replace(long, lines=(1, 3))
  short = of_words("2", "f: line 6", [["a"]])
  fault = r"^f: line 4: 'é!é!é!é!é!é!é!é!é!é!'…: \d+ word pieces; expected words of at most 62, the"
  with pytest.raises(InputError, match=fault):
    rows_of([long, short], room=64)
  faults = Faults(skip=True)
  assert [row.example for row in rows_of([long, short], room=64, faults=faults)] == [1]
  assert len(faults.found) == 1


def test_text_is_read_as_it_is():
  # What the processor makes of the same text when it is cut at the same words.
  text = "Ana's in Los Angeles (US). Or Rome?"
  example = parse({"text": text}, "1", "here")
  (row,) = PROCESSOR.encode([TextInput(text, entity_spans=example.words)])
  whole, second = rows_of([example], room=64)
  assert whole.input_ids.tolist() == second.input_ids.tolist() == row.input_ids.tolist()


def test_sentences_alone_are_read_as_texts():
  text = "Ana's in Los Angeles (US).  Or Rome?"
  example = parse({"text": text}, "1", "here")
  alone = rows_of([example], context=False)
  texts = [parse({"text": part.strip()}, "1", "here") for part in (text[:26], text[26:])]
  apart = rows_of(texts)
  assert [row.input_ids.tolist() for row in alone] == [row.input_ids.tolist() for row in apart]
  assert [row.entity_tokens.tolist() for row in alone] == [
    row.entity_tokens.tolist() for row in apart
  ]


def test_words_are_read_with_the_spaces_of_the_paper():
  example = of_words("1", "here", [["Rome", "'s", "(", "Los", ")"], ["Rome"]])
  rows = rows_of([example])
  texts = [" Rome", "'s", "(", " Los", ")", " Rome"]
  expected = joined(tokens.ids for tokens in PROCESSOR.tokenizer.encode(texts))
  assert rows[0].input_ids[1:-1].tolist() == expected


def test_words_without_pieces_begin_and_end_no_candidate():
  # This vocabulary has nothing for a lone zero-width space.
  processor = dataclasses.replace(tiny_processor("sentence_piece"), max_length=64)
  example = of_words("1", "here", [["a", "\u200b", "b", "\u200b"]])
  rows = features(
    processor, [example], CandidateLimits(16, None, True), labels=("NIL",), faults=Faults()
  )
  assert [row.source.tolist() for row in rows] == [[[0, 1], [0, 3], [2, 3]]]


def test_texts_without_words():
  examples = [parse({"text": text}, "1", "here") for text in ("", " \n ")]
  assert rows_of(examples) == []


TEXT = "Johnson lives here. So does Ana."
LOST = {
  (0, 4): "begins or ends inside a word",
  (7, 8): "white space",
  (8, 14): "white space at its edge",
  (0, 18): "3 words; candidates have at most 2",
  (14, 22): "3 words; candidates have at most 2",
  (18, 22): "in more than one sentence",
}


def example(*spans):
  return parse({"text": TEXT, "spans": [[*span, "X"] for span in spans]}, "1", "here")


@pytest.mark.parametrize("span", LOST)
def test_why_an_entity_cannot_be_found(span):
  assert missed_entities(example((0, 7), span), 2) == [("here", TEXT[slice(*span)], LOST[span])]
  assert missed_entities(example((0, 7), (28, 31)), 2) == []


def rows_of_learnable(examples, **settings):
  task = NamedEntities(labels=("NIL", "X"), **settings)
  return task.features(fitted(task, tiny_processor()), examples)


@pytest.mark.filterwarnings("ignore:.* entities cannot be found")
def test_entities_that_a_tokenizer_has_no_candidate_for():
  whole = example((0, 7), (28, 31))
  rows = rows_of_learnable([whole])
  assert missed_entities(whole, 16, rows) == []
  assert sorted(mark.label for row in rows for mark in marks(row, ("NIL", "X"))) == ["X", "X"]
  lost = missed_entities(whole, 16, rows_of_learnable([whole], span_pieces=1))  # both have more
  assert [one.text for one in lost] == ["Johnson", "Ana"]
  assert lost[0].why == "no candidate with this model's word pieces"


@pytest.mark.filterwarnings("ignore:.* entities cannot be found")
def test_a_file_from_which_nothing_can_be_learnt():
  for spans, fault in [
    ([(0, 4), (7, 8)], "f.jsonl: none of its 2 entities can be found; expected whole words of"),
    ([], "f.jsonl: no entities; expected one at least"),
  ]:
    with pytest.raises(InputError, match=fault):
      check_learnable("f.jsonl", [example(*spans)], rows_of_learnable([example(*spans)]))
  check_learnable(
    "f.jsonl", [example((0, 4), (28, 31))], rows_of_learnable([example((0, 4), (28, 31))])
  )
