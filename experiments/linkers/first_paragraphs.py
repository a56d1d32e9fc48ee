"""Knowledge that describes entities by sentences of first paragraphs too, which no example is from.

    python experiments/linkers/first_paragraphs.py tables knowledge with-paragraphs
    python experiments/linkers/fixed_states.py runs/linker/model with-paragraphs

Sentences are the entity's own page's, or with --links those of other pages that link it; none of
these is held out. A vector is the mean of the description's and the sentences'.
"""

import argparse
import shutil

from luke_jax.convert.published import published
from luke_jax.convert.reading import read_model
from luke_jax.files import Path
from luke_jax.inference.describing import is_dev, own_vectors
from luke_jax.tasks.linking.files import OwnEntity
from luke_jax.tasks.linking.knowledge import Knowledge, write_knowledge
from luke_jax.wiki.export.read import read_sentences


def sentences_of(tables: Path, known: Knowledge, most: int, *, links: bool) -> list[list[str]]:
  """Returns so many sentences at most that describe each entity."""
  found: list[list[str]] = [[] for _ in range(len(known))]
  ids = {known.about(id).title: id for id in range(len(known))}
  for sentence in read_sentences(tables):
    if sentence.paragraph:
      continue
    page, described = ids.get(sentence.title), set()
    if links and not is_dev(sentence.title):
      described = {ids[x.target] for x in sentence.links if x.target in ids} - {page}
    elif not links and page is not None and sentence.sentence:  # the first one describes it
      described = {page}
    for id in described:
      if len(found[id]) < most:
        found[id].append(sentence.text)
  return found


def main() -> None:
  """Writes the knowledge with the same names and examples."""
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("tables", type=Path)
  parser.add_argument("knowledge", type=Path)
  parser.add_argument("output", type=Path)
  parser.add_argument("--described-by", type=Path, default=None)
  parser.add_argument("--sentences", type=int, default=3)
  parser.add_argument("--links", action="store_true")
  options = parser.parse_args()
  known = Knowledge(options.knowledge)
  sentences = sentences_of(options.tables, known, options.sentences, links=options.links)
  abouts = map(known.about, range(len(known)))
  entities = [
    OwnEntity(x.title, x.description, sentences=tuple(some))
    for x, some in zip(abouts, sentences, strict=True)
  ]
  vectors = own_vectors(read_model(options.described_by or published("english")), entities)
  facts = {"tables": known.facts["tables"]}
  write_knowledge(options.output, known.lines, (vectors,), known.meanings, facts)
  for split in ("train", "dev"):
    shutil.copy(options.knowledge / f"{split}.jsonl", options.output)
  print(f"{sum(map(bool, sentences))} of {len(known)} entities with sentences")


if __name__ == "__main__":
  main()
