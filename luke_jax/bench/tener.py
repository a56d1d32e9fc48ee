"""Benchmark of TENER beside the same network in PyTorch: sentences trained on, and tagged."""

import dataclasses
import itertools
import random
import tempfile

import jax
import numpy as np

from luke_jax.bench.ner import LONGEST, SENTENCE
from luke_jax.bench.tener_sides import Ours, Theirs
from luke_jax.bench.timing import Timing, alternate, cores_and_processor, imported, one_core
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.systems.tener.config import SIZES

# English words: their number, and mean and deviation of the log of their letters.
VOCABULARY, LETTERS = 8000, (1.9, 0.35)
LABELS = ("LOC", "MISC", "ORG", "PER")
NAMES = 0.08  # share of the words that begin a name, of 1 to 3 words
SAME = 1e-4  # largest difference of two equal logits or losses


@dataclasses.dataclass(frozen=True)
class TenerTimes:
  """Measurements of one run."""

  machine: str
  versions: dict[str, str]
  size: str
  batch: int
  dropout: bool
  sentences: int
  words: int
  compiling: float  # seconds that the step's program took
  difference: float  # the largest, of logits and losses of both sides
  training: Timing  # of an epoch
  prediction: Timing  # of all sentences

  def rates(self, name: str) -> dict[str, float]:
    """Returns the sentences per second of ours and theirs, in `training` or `prediction`."""
    timing = getattr(self, name)
    return {side: self.sentences / timing.median(side) for side in ("ours", "theirs")}


def made_up(path: Path, sentences: int) -> Path:
  """Writes sentences of made-up words, frequent ones short, with some names; returns the file."""
  rng = random.Random(0)
  lengths = [max(1, round(rng.lognormvariate(*LETTERS))) for _ in range(VOCABULARY)]
  lengths.sort(key=lambda length: length * rng.uniform(0.3, 1))
  words = ["".join(rng.choices("etaoinsrhldcumfpgwybv", k=length)) for length in lengths]
  weights = list(itertools.accumulate(1 / (rank + 1) for rank in range(VOCABULARY)))
  lines = []
  for _ in range(sentences):
    number = min(max(2, round(rng.lognormvariate(*SENTENCE))), LONGEST)
    chosen = rng.choices(words, cum_weights=weights, k=number)
    lines += [f"{word} {tag}" for word, tag in zip(chosen, _tags(rng, number), strict=True)] + [""]
  path.write_text("\n".join(lines) + "\n", encoding="utf-8")
  return path


def _tags(rng: random.Random, number: int) -> list[str]:
  tags: list[str] = []
  while len(tags) < number:
    if rng.random() < NAMES:
      label = rng.choice(LABELS)
      tags += [f"B-{label}", *[f"I-{label}"] * rng.randint(0, 2)]
    tags.append("O")
  return tags[:number]


def run(
  size: str, train: Path | None, sentences: int, batch: int, rounds: int, *, dropout: bool
) -> TenerTimes:
  """Times both sides in turn on one core, once their logits and losses are seen to be equal."""
  if size not in SIZES:
    raise InputError(f"{size}: unknown size; expected one of {', '.join(SIZES)}")
  for name, number in (("sentences", sentences), ("batch", batch), ("rounds", rounds)):
    if number < 1:
      raise InputError(f"{name}: {number}; expected 1 or more")
  (torch,) = imported("torch")
  if jax.default_backend() != "cpu":
    raise InputError(
      f"{jax.devices()[0].device_kind}: expected JAX_PLATFORMS=cpu: one core is timed"
    )
  with one_core(), tempfile.TemporaryDirectory() as folder:
    torch.set_num_threads(1)
    path = train or made_up(Path(folder) / "train.conll", sentences)
    ours = Ours(path, Path(folder), size, batch, dropout)
    theirs = Theirs(ours, batch)
    difference = check_same(ours, theirs)
    training = alternate(ours.train, theirs.train, rounds)
    ours.settle()
    prediction = alternate(ours.predict, theirs.predict, rounds)
    machine = f"{jax.devices()[0].device_kind}, {cores_and_processor()}"
  return TenerTimes(
    machine=machine,
    versions={"jax": jax.__version__, "torch": torch.__version__},
    size=size,
    batch=batch,
    dropout=dropout,
    sentences=len(ours.rows),
    words=sum(len(row.input_ids) - 2 for row in ours.rows),
    compiling=ours.compiling,
    difference=difference,
    training=training,
    prediction=prediction,
  )


def check_same(ours: Ours, theirs: Theirs) -> float:
  """Returns the largest difference of both sides' logits and losses, without dropout.

  Raises InputError if they are not equal.
  """
  first = slice(0, min(len(ours.rows), ours.batch))
  pairs = [*zip(ours.logits(first), theirs.logits(first), strict=True)]
  pairs.append((np.array(ours.loss(first)), np.array(theirs.loss(first))))
  difference = max(float(np.abs(a - b).max()) for a, b in pairs)
  if not difference <= SAME:
    raise InputError(f"logits or losses differ by {difference:.2g}; expected at most {SAME}")
  return difference
