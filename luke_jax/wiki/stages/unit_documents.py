"""Pages of a build as documents whose entities, the text of links, are units."""

from collections.abc import Iterator

from luke_jax.files import Path, read_json
from luke_jax.pipeline.sentence_pairs import Document
from luke_jax.pipeline.unit_pairs import Chunk, Segment, encoded
from luke_jax.text import Tokenizer
from luke_jax.wiki.stages.linked_sentences import split_paragraph
from luke_jax.wiki.stages.page_stage import shards_of
from luke_jax.wiki.stages.stage import MANIFEST, read_finished


def unit_documents(folder: Path, tokenizer: Tokenizer, segment: Segment) -> Iterator[Document]:
  """Yields the pages of a build, a sentence as pieces with the units that they go on in."""
  pages = shards_of(folder / "pages", read_finished(folder / "pages"))
  site = read_json(folder / "pages" / MANIFEST)["made_of"]["site"]
  for shard in range(len(pages)):
    for page in pages.read_pages(shard):
      split = (split_paragraph(paragraph, site["language"]) for paragraph in page.paragraphs)
      document = []
      for sentence in (sentence for paragraph in split for sentence in paragraph.sentences):
        chunks = [Chunk(text, place % 2 == 1) for place, text in enumerate(sentence.segments)]
        pieces = encoded(chunks, tokenizer, segment)
        if len(pieces.ids):
          document.append(pieces)
      yield document
