"""Benchmark of turning texts with entity spans into inputs, against transformers' tokenizer."""

import dataclasses
import random
import tempfile
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import numpy as np
from rich.table import Table
from tyro.conf import Positional, arg

from benchmarks.figures import print_figures
from benchmarks.timing import Timing, alternate, imported, one_core
from luke_jax.cli.process import stderr_console
from luke_jax.errors import InputError
from luke_jax.files import Path, check_place, cores_and_processor, read_text
from luke_jax.text import Processor, Tokenizer, load_tokenizer, save_processor
from luke_jax.text.byte_level import ByteLevelTokenizer
from luke_jax.text.entity_vocab import SPECIAL_ENTITIES
from luke_jax.text.tokenizer import Bounds

SPANS = 20  # per text
BATCH = 32
NUMBER, WORDS = 256, 120  # of the made-up texts, if none are given
MENTION = 30  # characters, at most
NO_LIMIT = 10**6

Side = Callable[[Sequence[str], Sequence[Sequence[Bounds]]], Any]


@dataclasses.dataclass(frozen=True)
class TextTimes:
  """Measurements of one run."""

  machine: str
  versions: dict[str, str]
  texts: int
  characters: float  # of a text, on average
  timing: Timing  # of all texts

  @property
  def texts_per_second(self) -> dict[str, float]:
    """Returns the texts per second of ours and theirs."""
    return {side: self.texts / self.timing.median(side) for side in ("ours", "theirs")}


def run(directory: Path, texts: Sequence[str] | None, rounds: int) -> TextTimes:
  """Times both sides in turn on one core, once their inputs are seen to be equal."""
  tokenizers, transformers = imported("tokenizers", "transformers")
  if rounds < 1:
    raise InputError(f"rounds: {rounds}; expected 1 or more")
  tokenizer = load_tokenizer(directory)
  if not isinstance(tokenizer, ByteLevelTokenizer):
    raise InputError(f"{directory}: a SentencePiece model; expected vocab.json and merges.txt")
  texts = texts or made_up(tokenizer)
  with one_core():
    ours, theirs = _over_all(texts, *_sides(tokenizer, transformers.LukeTokenizer))
    timing = alternate(ours, theirs, rounds)
    machine = cores_and_processor()
  versions = {"transformers": transformers.__version__, "tokenizers": tokenizers.__version__}
  return TextTimes(machine, versions, len(texts), sum(map(len, texts)) / len(texts), timing)


def read_texts(path: Path) -> list[str]:
  """Returns the lines of a file that are not blank."""
  texts = [line for line in read_text(path).split("\n") if line.strip()]
  if not texts:
    raise InputError(f"{path}: no text; expected one per line")
  return texts


def made_up(tokenizer: Tokenizer) -> list[str]:
  """Returns texts of the vocabulary's words, earlier ones more often.

  Byte pairs are merged by frequency, so earlier words are the more frequent ones.
  """
  pieces = (tokenizer.decode([id]) for id in range(tokenizer.vocab_size))
  words = [piece[1:] for piece in pieces if piece[:1] == " " and piece[1:].isalpha()] or ["a"]
  weights = [1 / (rank + 1) for rank in range(len(words))]
  rng = random.Random(0)
  return [" ".join(rng.choices(words, weights, k=WORDS)) + "." for _ in range(NUMBER)]


def spans_in(text: str, rng: random.Random) -> list[Bounds]:
  """Returns random spans, none of which starts with a space."""
  starts = [i for i, character in enumerate(text) if not character.isspace()]
  return [
    (start, min(start + rng.randint(1, MENTION), len(text)))
    for start in rng.choices(starts, k=SPANS)
  ]


def _sides(tokenizer: Tokenizer, reference: Any) -> tuple[Side, Side]:
  processor = Processor(tokenizer, SPECIAL_ENTITIES, max_length=NO_LIMIT, max_entity_length=SPANS)
  with tempfile.TemporaryDirectory() as folder:
    save_processor(processor, folder)
    theirs = reference.from_pretrained(folder)
  return (
    lambda texts, spans: processor(texts, entity_spans=spans),
    lambda texts, spans: theirs(texts, entity_spans=spans, padding=True, return_tensors="np"),
  )


def _over_all(texts: Sequence[str], *sides: Side) -> list[Callable[[], None]]:
  rng = random.Random(0)
  spans = [spans_in(text, rng) for text in texts]
  batches = [(texts[i : i + BATCH], spans[i : i + BATCH]) for i in range(0, len(texts), BATCH)]
  check_same(*(side(*batches[0]) for side in sides))

  def over_all(side: Side) -> Callable[[], None]:
    def run() -> None:
      for batch in batches:
        side(*batch)

    return run

  return [over_all(side) for side in sides]


def check_same(ours: dict[str, np.ndarray], theirs: dict[str, np.ndarray]) -> None:
  """Raises InputError unless both sides make equal inputs."""
  for name, array in ours.items():
    if name not in theirs or not np.array_equal(array, theirs[name]):
      raise InputError(f"{name}: differs from the array of transformers; expected equal inputs")


def main(
  directory: Annotated[Path, Positional, arg(metavar="DIRECTORY")],
  /,
  *,
  texts: Path | None = None,
  rounds: int = 5,
  output: Path | None = None,
) -> None:
  """Times the step from texts to inputs against transformers' LUKE tokenizer.

  Same vocabulary, texts and entity spans on both sides, which take turns on one core; that their
  inputs are equal is checked first. The tokenizer of transformers 4 is the slow one, in Python.

      python -m benchmarks text luke-base --texts paragraphs.txt

  Args:
    directory: Directory with a tokenizer of RoBERTa's kind, such as a model's.
    texts: Text file, one text a line; without it, texts are made up of the vocabulary's words.
    rounds: Number of times each side runs.
    output: File for the figures, as JSON.
  """
  if output:
    check_place(output)
  read = read_texts(texts) if texts else None
  with stderr_console().status(f"timing {directory}"):
    result = run(directory, read, rounds)
  summary = {"ratio": result.timing.ratio, "texts_per_second": result.texts_per_second}
  print_figures(
    result, summary, [_table(result)], f"{result.machine}; {result.versions}", output=output
  )


def _table(result: TextTimes) -> Table:
  title = f"{result.texts} texts of {result.characters:.0f} characters, {SPANS} spans each"
  table = Table("", "luke_jax", "transformers", "ratio", title=title)
  rates = [f"{rate:,.0f}" for rate in result.texts_per_second.values()]
  table.add_row("texts a second", *rates, f"{result.timing.ratio:.2f}")
  return table
