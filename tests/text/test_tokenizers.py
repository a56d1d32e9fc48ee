"""What every tokenizer does, and what two of the kinds do alone."""

import pickle
from dataclasses import replace

import pytest
import tokenizers

from luke_jax.errors import InputError
from luke_jax.text.byte_level import ByteLevelTokenizer
from luke_jax.text.tokenizer import Tokenizer

TEXT = "Beyoncé lives in Los Angeles, doesn't she?"


def sliced(text, tokens):
  return [text[start:end] for start, end in tokens.offsets]


def test_a_tokenizer_that_lacks_a_part_of_the_contract_is_refused():
  class WithoutEncode(Tokenizer):
    decode = piece_id = with_words = word_starts = hub_settings = save_vocab = None

  with pytest.raises(TypeError, match="encode"):
    WithoutEncode()


def test_what_only_whole_words_have_is_empty_elsewhere(byte_level, sentence_piece):
  for tokenizer in (byte_level, sentence_piece):
    assert not tokenizer.whole_words
    assert tokenizer.sizes == tokenizer.beside(["a", "word"]) == {}


def test_special_ids_of_byte_level(byte_level):
  special = byte_level.special
  assert (special.start, special.pad, special.end, special.unknown) == (0, 1, 2, 3)
  assert special.mask == 599
  assert special.marker_ids == (600, 601)
  assert byte_level.vocab_size == 602


def test_pieces_by_their_own_spelling(byte_level, sentence_piece):
  """Not as words, which SentencePiece reads as if after a space."""
  assert byte_level.decode([byte_level.piece_id("@")]) == "@"
  assert sentence_piece.piece_id("e") != sentence_piece.encode(["e"])[0].ids[0]
  for tokenizer in (byte_level, sentence_piece):
    assert tokenizer.piece_id("no such piece") == tokenizer.special.unknown


def test_special_ids_of_sentence_piece_follow_fairseq(sentence_piece):
  special = sentence_piece.special
  assert (special.start, special.pad, special.end, special.unknown) == (0, 1, 2, 3)
  assert special.mask == 300  # 299 pieces, moved by one
  assert special.marker_ids == (301, 302)
  assert sentence_piece.vocab_size == 303


def test_a_batch_equals_its_texts_alone(tokenizer):
  texts = [TEXT, "", "東京 <mask> x", " "]
  for offsets in (False, True):
    together = tokenizer.encode(texts, offsets=offsets)
    assert together == [tokenizer.encode([text], offsets=offsets)[0] for text in texts]


def test_offsets_change_no_id(tokenizer):
  texts = [TEXT, "a <mask> b", "<ent>"]
  plain, with_offsets = tokenizer.encode(texts), tokenizer.encode(texts, offsets=True)
  assert [tokens.ids for tokens in plain] == [tokens.ids for tokens in with_offsets]
  assert all(tokens.offsets is None for tokens in plain)


def test_offsets_leave_out_the_space_before_a_word(tokenizer):
  (tokens,) = tokenizer.encode(["She said on  Thursday."], offsets=True)
  assert "".join(sliced("She said on  Thursday.", tokens)).replace(" ", "") == "ShesaidonThursday."
  assert not any(word.startswith(" ") for word in sliced("She said on", tokens) if word.strip())


def test_bytes_of_one_character_share_its_offsets(byte_level):
  (tokens,) = byte_level.encode(["x😀"], offsets=True)
  assert tokens.offsets == [(0, 1)] + [(1, 2)] * (len(tokens.ids) - 1)
  assert len(tokens.ids) > 2


def test_pieces_of_one_character_share_its_offsets(sentence_piece):
  (tokens,) = sentence_piece.encode(["x ﬁ"], offsets=True)
  assert tokens.offsets[-2:] == [(2, 3), (2, 3)]


def test_a_lone_word_mark_has_an_empty_span(sentence_piece):
  (tokens,) = sentence_piece.encode(["京都"], offsets=True)
  assert sliced("京都", tokens)[0] == ""
  assert "".join(sliced("京都", tokens)) == "京都"


def test_prefix_space(byte_level):
  prefixing = byte_level.with_prefix(True)
  texts = ["She said", " She said", "", "<mask> said", "\nSaid<mask>so", "\xa0a\t"]
  expected = byte_level.encode([*texts[1:2], *texts[1:4], " \nSaid<mask> so", " \xa0a\t"])
  assert prefixing.encode(texts) == expected
  (tokens, *_, lone, _) = prefixing.encode(texts, offsets=True)
  assert lone.offsets[0] == (0, 0) and lone.offsets[1] == (0, 1)
  assert tokens.offsets[0][0] == 0
  assert "".join(sliced("She said", tokens)) == "Shesaid"


def test_special_tokens_in_a_text(tokenizer):
  special = tokenizer.special
  text = f"a {special.roles.mask}<ent>{special.roles.end}"
  (tokens,) = tokenizer.encode([text], offsets=True)
  assert tokens.ids[-3:] == [special.mask, special.marker_ids[0], special.end]
  assert tokens.offsets[-3:] == [(2, 8), (8, 13), (13, len(text))]


def test_the_mask_takes_the_space_before_it(byte_level):
  (spaced, tight) = byte_level.encode(["a \t<mask>", "a<mask>"])
  assert spaced.ids == tight.ids
  apart = ByteLevelTokenizer(
    byte_level._library.model, replace(byte_level.special, mask_as_word=False)
  )
  assert (
    apart.encode(["a \t<mask>"])[0].ids != spaced.ids == byte_level.encode(["a  <mask>"])[0].ids
  )
  (other,) = byte_level.encode(["a <ent>"])
  assert len(other.ids) == 3


def test_decoding_byte_level_gives_the_text_again(byte_level):
  for text in (TEXT, " 東京\n\tx ", "<s>a</s><ent> b<ent>", "e\u0301😀"):
    assert byte_level.decode(byte_level.encode([text])[0].ids) == text


def test_decoding_sentence_piece_gives_the_normalised_text(sentence_piece):
  ids = sentence_piece.encode(["El río  pasa <ent>por<ent> el sur."])[0].ids
  assert sentence_piece.decode([0, *ids]) == "<s> El río pasa<ent> por<ent> el sur."
  assert sentence_piece.decode(ids).startswith("El río")


def test_decoding_refuses_ids_it_does_not_have(tokenizer):
  for id in (-1, tokenizer.vocab_size):
    with pytest.raises(InputError, match="expected ids from 0 to"):
      tokenizer.decode([5, id])


def test_a_tokenizer_travels_to_other_processes(tokenizer):
  assert pickle.loads(pickle.dumps(tokenizer)).encode([TEXT]) == tokenizer.encode([TEXT])  # noqa: S301


def test_words_together_are_words_alone(byte_level):
  words = ["lives", "doesn't", "東京", "<mask>", "...", "x😀", "'s", "\u0301a"]
  assert byte_level.encode_words([]) == []
  assert byte_level.encode_words(words) == [byte_level.encode_words([word])[0] for word in words]
  plain = [word for word in words if word != "<mask>"]
  rows = byte_level.encode([f" {word}" for word in plain])
  assert byte_level.encode_words(plain) == [row.ids for row in rows]


def test_words_of_a_vocabulary_without_a_space(byte_level):
  ids = {token: id for id, token in enumerate(("<s>", "<pad>", "</s>", "<unk>", "<mask>", "a"))}
  model = tokenizers.models.BPE(ids, [], unk_token="<unk>")
  tokenizer = ByteLevelTokenizer(model, byte_level.special)
  assert tokenizer.encode_words(["a", "aa"]) == [[3, 5], [3, 5, 5]]


def test_which_pieces_start_a_word(byte_level, sentence_piece):
  starts = byte_level.word_starts()
  assert len(starts) == byte_level.vocab_size
  for text, expected in ((" the", True), ("s", False), (".", True), ("<s>", True), ("é", False)):
    (tokens,) = byte_level.encode([text])
    assert starts[tokens.ids[0]] == expected, text
  assert sentence_piece.word_starts() is None
