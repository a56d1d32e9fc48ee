"""Sentences joined are the paragraph; every link lies in one of them, or is counted."""

from hypothesis import given
from hypothesis import strategies as st

from luke_jax.wiki.read.markup import PageLink, Paragraph
from luke_jax.wiki.stages.linked_sentences import split_paragraph

FRAGMENTS = (
  *("Dr.", "Mr.", "e.g.", "U.S.", "J.", "R.", "3.14", "end.", "end!", "end?", "and", "the", "Town"),
  *('"', "'", "(", ")", "[", "]", "...", "…", ";", ","),
  *("東京です。", "はい！", "هل هذا؟", "यह है।", "Ελλάδα;", "Straße", "😀", "e\u0301"),
  *(" ", "  ", "\t", "\u00a0", "\u3000", "\u2028", "\u200b", "\n", "a", "B"),
)
LANGUAGES = ("en", "de", "ja", "hi", "ar", "xx", "zh-min-nan")


@st.composite
def linked_paragraphs(draw):
  """Text of which some stretches, which do not overlap, are links."""
  text, links = "", []
  for fragments, linked in draw(
    st.lists(st.tuples(st.lists(st.sampled_from(FRAGMENTS), min_size=1), st.booleans()))
  ):
    piece = draw(st.sampled_from(("", " "))).join(fragments)
    if linked:
      links.append(PageLink(piece, f"Target {len(links)}", len(text), len(text) + len(piece)))
    text += piece
  return Paragraph(text, tuple(links), abstract=True)


@given(linked_paragraphs(), st.sampled_from(LANGUAGES))
def test_segments_joined_are_the_text(paragraph, language):
  found = split_paragraph(paragraph, language)
  segments = [segment for sentence in found.sentences for segment in sentence.segments]
  expected = "".join(f" {word}" for word in paragraph.text.split())
  assert "".join(segments).removesuffix(" ") == expected
  assert not any(segment.endswith(" ") for segment in segments if segment != " ")
  assert not any("  " in segment for segment in segments)


@given(linked_paragraphs(), st.sampled_from(LANGUAGES))
def test_links_keep_their_text_and_none_is_lost(paragraph, language):
  found = split_paragraph(paragraph, language)
  texts = {link.target: " ".join(link.text.split()) for link in paragraph.links}
  kept = 0
  for sentence in found.sentences:
    assert len(sentence.segments) == 2 * len(sentence.targets) + 1
    for segment, target in zip(sentence.segments[1::2], sentence.targets, strict=True):
      assert segment.strip() == texts[target]
    kept += len(sentence.targets)
  assert kept + found.links_across + found.links_empty == len(paragraph.links)


def test_a_link_over_two_sentences_is_in_neither():
  text = "He wrote This Is It. It is good. She read it."
  link = PageLink(text[9:25], "This Is It. It", 9, 25)
  inside = PageLink("She", "Her", 33, 36)
  found = split_paragraph(Paragraph(text, (link, inside), True), "en")
  assert found.links_across == 1
  assert [sentence.targets for sentence in found.sentences] == [[], [], ["Her"]]


def test_a_space_belongs_to_the_word_after_it():
  text = "In Paris (France) now."
  links = (PageLink("Paris", "Paris", 3, 8), PageLink("France", "France", 10, 16))
  found = split_paragraph(Paragraph(text, links, True), "en")
  assert found.sentences[0].segments == [" In", " Paris", " (", "France", ") now."]


def test_sentences_of_a_language():
  german = Paragraph("Er kam z.B. aus Köln. Dann ging er.", (), True)
  assert len(split_paragraph(german, "de").sentences) == 2
