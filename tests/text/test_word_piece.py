"""What WordPiece tokenizers do alone; what they share with the others is in test_tokenizers.py."""

import tempfile
import time
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from luke_jax.errors import InputError
from luke_jax.text import Processor, TextInput, load_tokenizer, save_tokenizer
from luke_jax.text.tokenizer import BERT, MARKERS, SpecialTokens
from luke_jax.text.unknown import CountingTokenizer
from luke_jax.text.word_piece import Normalization, WordPieceTokenizer, read_pieces

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PIECES = [
  *("jim", "henson", "was", "a", "puppet", "##eer", ".", "un", "##aff", "##able", "unaff"),
  *("naive", "naïve", "—", "5", "000", ",", "$", "北", "京", "mask", "[", "]"),
  *("U", "u", "s", "S", "x", "##x", "ernie", "2019", "年"),
]
CHUNKS = [
  "Beyoncé",
  " ",
  "\n",
  "東京",
  "[MASK]",
  "<ent>",
  "e\u0301",
  "שלום",
  "\u200b",
  "\x00",
  "한",
  "İ",
]
TEXTS = st.lists(st.sampled_from(CHUNKS) | st.text(max_size=8), max_size=8).map("".join)


def made(*more, **normalization):
  special = SpecialTokens({name: i for i, name in enumerate(SPECIAL)}, (), BERT)
  return WordPieceTokenizer([*SPECIAL, *PIECES, *more], special, Normalization(**normalization))


def pieces(tokenizer, text):
  names = [*SPECIAL, *PIECES]
  return [names[id] for id in tokenizer.encode([text])[0].ids]


def test_the_longest_piece_goes_first():
  assert pieces(made(), "Jim Henson was a puppeteer.") == [
    *("jim", "henson", "was", "a", "puppet", "##eer", ".")
  ]
  # Greedy: `unaff` wins though only `un` `##aff` could go on to `##able`.
  assert pieces(made(), "unaffable unaffx unx") == ["unaff", "##able", "unaff", "##x", "un", "##x"]


def test_words_are_unknown_as_a_whole():
  assert pieces(made(), "puppets 首 unaffz") == ["[UNK]"] * 3
  longest = "x" * 100
  assert pieces(made(), longest) == ["x"] + ["##x"] * 99
  assert pieces(made(), f"{longest}x") == ["[UNK]"]


def test_punctuation_and_chinese_characters_are_words():
  assert pieces(made(), "U.S. $5,000") == ["u", ".", "s", ".", "$", "5", ",", "000"]
  assert pieces(made(), "ERNIE北京2019年") == ["ernie", "北", "京", "2019", "年"]
  assert pieces(made(tokenize_chinese_chars=False), "北京 北") == ["[UNK]", "北"]


def test_case_and_accents():
  assert pieces(made(), "Naïve U") == ["naive", "u"]
  assert pieces(made(strip_accents=False), "Naïve U") == ["naïve", "u"]
  assert pieces(made(do_lower_case=False), "Naïve naïve U") == ["[UNK]", "naïve", "U"]
  assert pieces(made(do_lower_case=False, strip_accents=True), "naïve U") == ["naive", "U"]


def test_offsets_are_of_the_text_before_normalization():
  text = "\u200bNai\u0308ve—un\x00x  [MASK]\ufffd北5"
  (tokens,) = made().encode([text], offsets=True)
  found = [text[start:end] for start, end in tokens.offsets]
  assert found == ["Nai\u0308ve", "—", "un", "x", "[MASK]", "北", "5"]


def test_special_tokens_in_a_text_are_literal():
  assert pieces(made(), "a[MASK]x [mask]") == ["a", "[MASK]", "x", "[", "mask", "]"]
  assert pieces(made(), "[SEP][CLS] [UNK][PAD]") == ["[SEP]", "[CLS]", "[UNK]", "[PAD]"]


def test_which_pieces_start_a_word():
  tokenizer = made().with_words(MARKERS)
  starts = tokenizer.word_starts()
  assert len(starts) == tokenizer.vocab_size
  continuing = {i for i, piece in enumerate([*SPECIAL, *PIECES]) if piece.startswith("##")}
  assert set((~starts).nonzero()[0]) == continuing != set()


def test_decoding_gives_words():
  tokenizer = made()
  ids = tokenizer.encode(["Jim  was unaffx, a [MASK]北."])[0].ids
  special = tokenizer.special
  text = "[CLS] jim was unaffx, a [MASK] 北. [SEP]"
  assert tokenizer.decode([special.start, *ids, special.end]) == text
  assert tokenizer.decode([]) == ""
  assert tokenizer.decode([tokenizer.piece_id("##eer")]) == "##eer"


def test_markers_are_there_when_given(word_piece):
  assert word_piece.special.markers == word_piece.special.marker_ids == ()
  size = word_piece.vocab_size
  other = word_piece.with_words(["[ENTITY]"])
  assert (other.special.markers, other.vocab_size) == ((), size + 1)
  luke = other.with_words([*MARKERS, "[ENTITY]"])
  assert luke.special.markers == MARKERS
  assert luke.special.marker_ids == (size + 1, size + 2)
  (tokens,) = luke.encode(["Tokyo<ent2>[ENTITY]"])
  assert tokens.ids[-2:] == [size + 2, size]


def test_a_luke_with_this_vocabulary(marked_word_piece, vocab):
  pair = Processor(marked_word_piece, vocab, "entity_pair_classification")
  text = "\x00Tokyo is the\u200b capital of Japan"
  (row,) = pair.encode([TextInput(text, [(1, 6), (15, 31)])], offsets=True)
  first, second = marked_word_piece.special.marker_ids
  assert [id for id in row.input_ids if id >= first] == [first, first, second, second]
  covered = [[row.offsets[i] for i in range(*entity.tokens)] for entity in row.entities]
  words = ["".join(text[start:end] for start, end in each[1:-1]) for each in covered]
  assert words == ["Tokyo", "capitalofJapan"]
  assert all(each[0] == each[-1] == (-1, -1) for each in covered)


def test_a_repeated_piece_has_its_last_id():
  tokenizer = made("jim")
  assert tokenizer.encode(["Jim"])[0].ids == [tokenizer.vocab_size - 1]


def test_a_megabyte_in_seconds(word_piece):
  part = 2**20 // 4
  text = "river " * (part // 6) + "a" * part + "[MASK]" * (part // 6) + "([" * (part // 2)
  for offsets in (False, True):
    start = time.process_time()
    (tokens,) = word_piece.encode([text], offsets=offsets)
    assert time.process_time() - start < 10
  assert len(tokens.ids) > 300_000
  assert tokens.offsets[-1] == (len(text) - 1, len(text))


def dropped(character):
  """Whether the normalization may leave a character out of every token."""
  category = unicodedata.category(character)
  return character.isspace() or category[0] in "CZ" or category == "Mn" or character == "\ufffd"


@given(text=TEXTS)
def test_offsets_of_any_text(word_piece, text):
  (tokens,) = word_piece.encode([text], offsets=True)
  assert tokens.ids == word_piece.encode([text])[0].ids
  assert all(0 <= start < end <= len(text) for start, end in tokens.offsets)
  for (start, end), (next_start, next_end) in zip(tokens.offsets, tokens.offsets[1:], strict=False):
    assert start <= next_start and end <= next_end
  covered = {i for start, end in tokens.offsets for i in range(start, end)}
  assert all(dropped(text[i]) for i in set(range(len(text))) - covered)


@given(text=TEXTS)
def test_decoded_text_has_the_same_tokens(word_piece, text):
  (tokens,) = word_piece.encode([text])
  assert word_piece.encode([word_piece.decode(tokens.ids)]) == [tokens]


@given(more=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), min_size=1)))
def test_any_vocabulary_comes_back(more):
  tokenizer = made(*more)
  with tempfile.TemporaryDirectory() as folder:
    one, two = Path(folder) / "one", Path(folder) / "two"
    save_tokenizer(tokenizer, one)
    save_tokenizer(load_tokenizer(one), two)
    assert read_pieces(one / "vocab.txt") == [*SPECIAL, *PIECES, *more]
    for file in one.iterdir():
      assert file.read_bytes() == (two / file.name).read_bytes()


def test_characters_are_read_as_others_at_their_own_places(tmp_path):
  plain = made("台", "湾", "世", "界", "，", "！")
  text = "İ 臺灣，Ｕ東é世界！"
  assert sum(id == 1 for id in plain.encode([text])[0].ids) == 6
  reads = plain.with_characters({"臺": "台", "灣": "湾", "Ｕ": "u"})
  (tokens,) = reads.encode([text], offsets=True)
  known = [
    text[start:end] for id, (start, end) in zip(tokens.ids, tokens.offsets, strict=True) if id != 1
  ]
  assert known == ["臺", "灣", "，", "Ｕ", "世", "界", "！"]
  assert reads.encode([text])[0].ids == tokens.ids
  save_tokenizer(reads, tmp_path)
  again = load_tokenizer(tmp_path)
  assert again.with_words(["<ent>"]).encode([text], offsets=True)[0] == tokens
  # The form of OpenCC, whose lines may name several characters.
  (tmp_path / "characters.tsv").write_text("臺\t台\n灣\t湾 弯\nＵ\tu\n", encoding="utf-8")
  assert load_tokenizer(tmp_path).encode([text])[0].ids == tokens.ids
  (tmp_path / "characters.tsv").write_text("臺\t台\n臺灣\t台湾\n", encoding="utf-8")
  with pytest.raises(InputError, match=r"characters.tsv: line 2 is '臺灣.*; expected a character"):
    load_tokenizer(tmp_path)


def test_unknown_words_are_counted_and_named():
  counting = CountingTokenizer(made())
  counting.encode(["Jim 首首", "was 首 a 都 puppet"], offsets=False)
  with pytest.warns(UserWarning, match=r"x.tsv: 4 of 8 pieces are \[UNK\], .*: 首 \(3\), 都 \(1\)"):
    counting.warn("x.tsv")
  fine = CountingTokenizer(made())
  assert fine.encode(["was " * 100 + "首"]) == made().encode(["was " * 100 + "首"])
  fine.warn("x.tsv")  # below a hundredth: no warning
