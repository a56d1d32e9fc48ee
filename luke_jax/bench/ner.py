"""Texts to named entities, against the usual loop over sentences with transformers."""

import dataclasses
import itertools
import random
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from luke_jax.bench.alternating import Timing, alternate
from luke_jax.bench.machine import cores_and_processor
from luke_jax.bench.text import made_up
from luke_jax.config import SIZES
from luke_jax.convert import Model
from luke_jax.errors import InputError
from luke_jax.inference.batches import outputs
from luke_jax.models.luke import ARCHITECTURES, initial_params
from luke_jax.tasks.fine_tuning import SPECIAL_ENTITIES, fitted
from luke_jax.tasks.ner.documents import Example
from luke_jax.tasks.ner.task import NIL, NamedEntities
from luke_jax.text import LukeProcessor, Tokenizer, load_tokenizer
from luke_jax.text.special_tokens import Span

LABELS = (NIL, "LOC", "MISC", "ORG", "PER")
BATCH = 8  # sentences of the usual loop
DOCUMENT = (200, 400)  # words
# Sentences are as long as those of SQuAD's passages: the mean and deviation of the log of words.
SENTENCE, LONGEST = (3.18, 0.52), 64
FOUND = 0.02  # the share of spans that the random model takes for entities
# All spans of a sentence go together, as in the usual loop, for they see each other.
TASK = NamedEntities(labels=LABELS, context=False, entities=1024)

Found = set[tuple[int, int, int, str]]  # document, start, end, label


@dataclasses.dataclass(frozen=True)
class Result:
  """What a run measured."""

  machine: str
  versions: dict[str, str]
  size: str
  documents: int
  sentences: int
  words: int
  spans: int
  entities: int  # that both sides found
  timing: Timing  # of all documents

  @property
  def sentences_per_second(self) -> dict[str, float]:
    """By side, ours and theirs."""
    return {side: self.sentences / self.timing.median(side) for side in ("ours", "theirs")}


def run(directory: Path, size: str, documents: int, rounds: int) -> Result:
  """Times both sides in turn, once they are seen to find the same entities."""
  try:
    import torch
    import transformers
  except ImportError as missing:
    raise InputError(
      f"{missing.name}: not installed; expected it to compare with: pip install '.[parity]'"
    ) from None
  if size not in SIZES:
    raise InputError(f"{size}: unknown size; expected one of {', '.join(SIZES)}")
  for name, number in (("documents", documents), ("rounds", rounds)):
    if number < 1:
      raise InputError(f"{name}: {number}; expected 1 or more")
  tokenizer = load_tokenizer(directory)
  examples = made_up_documents(tokenizer, documents)
  model = random_model(tokenizer, size, examples)
  usual = UsualLoop(model, examples)
  found = entities_of(model, examples)
  check_same(found, usual())
  timing = alternate(lambda: entities_of(model, examples), usual, rounds)
  versions = {"jax": jax.__version__, "torch": torch.__version__}
  return Result(
    machine=f"{jax.devices()[0].device_kind}, {cores_and_processor()}",
    versions=versions | {"transformers": transformers.__version__},
    size=size,
    documents=documents,
    sentences=len(usual.sentences),
    words=sum(len(words) for _, words in usual.sentences),
    spans=sum(len(spans_of(words)) for _, words in usual.sentences),
    entities=len(found),
    timing=timing,
  )


def made_up_documents(tokenizer: Tokenizer, number: int) -> list[Example]:
  """Documents of the vocabulary's words, in sentences."""
  rng = random.Random(0)
  words = itertools.cycle(" ".join(made_up(tokenizer)).replace(".", "").split())
  examples = []
  for i in range(number):
    left, sentences = rng.randint(*DOCUMENT), []
    while left > 0:
      length = min(max(2, round(rng.lognormvariate(*SENTENCE))), LONGEST, left + 1)
      sentences.append([*itertools.islice(words, length - 1), "."])
      left -= length
    tokens = [word for sentence in sentences for word in sentence]
    edges = itertools.accumulate(map(len, sentences), initial=0)
    examples.append(of_tokens(str(i), tokens, list(itertools.pairwise(edges))))
  return examples
