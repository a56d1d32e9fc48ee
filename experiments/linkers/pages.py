"""A linker on whole held-out pages, whose names are those of the page and of what it links.

    python experiments/linkers/pages.py runs/linker/model tables

Prints a line of JSON with the scores and the processor seconds that linking took.
"""

import argparse
import itertools
import json
import time
from collections.abc import Iterator

import luke_jax
from luke_jax.files import Path
from luke_jax.inference.describing import LinkedParagraph, by_paragraph, is_dev
from luke_jax.inference.predicting import predictions
from luke_jax.inference.settings import task_of
from luke_jax.tasks.linking.files import LinkingExample, parse
from luke_jax.wiki.export.read import read_sentences


def pages(tables: Path, words: int) -> Iterator[LinkingExample]:
  """Yields held-out pages of so many words at least, without the paragraph that describes them."""
  for title, sentences in itertools.groupby(read_sentences(tables), lambda x: x.title):
    if not is_dev(title):
      continue
    text, mentions = "", []
    for paragraph in map(LinkedParagraph.of, by_paragraph(sentences)):
      if paragraph.number:
        start = len(text)
        mentions += [[x.start + start, x.end + start, x.target] for x in paragraph.links]
        text += paragraph.text + "\n"
    if mentions and len(text.split()) >= words:
      yield parse({"text": text, "mentions": mentions}, title, title)


def main() -> None:
  """Scores the pages of a folder of tables."""
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("model", type=Path)
  parser.add_argument("tables", type=Path)
  parser.add_argument("--words", type=int, default=600, help="of a page at least")
  parser.add_argument("--pages", type=int, default=60)
  options = parser.parse_args()
  model = luke_jax.load(options.model)
  task = task_of(model)
  examples = list(itertools.islice(pages(options.tables, options.words), options.pages))
  begun = time.process_time()
  links = [prediction for _, prediction in predictions(model, task, examples)]
  seconds = time.process_time() - begun
  scores = task.evaluate(examples, links).scores
  names = sum(len(example.mentions or ()) for example in examples)
  facts = {"pages": len(examples), "names": names, "processor_seconds": round(seconds, 1)}
  print(json.dumps(facts | {name: round(x, 4) for name, x in scores.items()}))


if __name__ == "__main__":
  main()
