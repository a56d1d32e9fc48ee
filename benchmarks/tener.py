"""Benchmark of TENER beside the same network in PyTorch: sentences trained on, and tagged."""

import dataclasses
import itertools
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from rich.table import Table

from benchmarks.figures import print_figures
from benchmarks.ner import LONGEST, SENTENCE
from benchmarks.timing import Timing, alternate, imported, one_core
from luke_jax.cli.process import stderr_console
from luke_jax.convert.parts import ModelParts
from luke_jax.errors import InputError
from luke_jax.files import Path, check_place, cores_and_processor
from luke_jax.formats.files import Faults
from luke_jax.inference.batches import outputs, shapes_of
from luke_jax.inference.predicting import predictions
from luke_jax.models import keys
from luke_jax.models.network import initial_params
from luke_jax.pipeline.batches import Data
from luke_jax.systems.tener.config import SIZES, TenerConfig
from luke_jax.tasks.ner.documents import NamesExample
from luke_jax.tasks.running import Running
from luke_jax.tasks.tagging.task import Tagging, legal_neighbours
from luke_jax.text import Processor, Row, save_processor
from luke_jax.text.entity_vocab import SPECIAL_ENTITIES
from luke_jax.text.whole_words import (
  CHARACTERS,
  LONGEST_WORD,
  PLAIN,
  SPECIAL,
  Vocabularies,
  WholeWordTokenizer,
)
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.mesh import make_mesh
from luke_jax.training.optimizer import Optimizer
from luke_jax.training.program import Program

PARTS = ("training", "prediction")
# English words: their number, and mean and deviation of the log of their letters.
VOCABULARY, LETTERS = 8000, (1.9, 0.35)
LABELS = ("LOC", "MISC", "ORG", "PER")
NAMES = 0.08  # share of the words that begin a name, of 1 to 3 words
SAME = 1e-4  # largest difference of two equal logits or losses
RATES = ("hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout")
RATES += ("embedding_dropout", "character_dropout", "word_dropout")
SETTLED = 4  # passes in a row that compile nothing


class Indexed(NamedTuple):
  """A sentence as ids: of its words, of the characters of each, and of its tags."""

  words: list[int]
  characters: list[list[int]]
  tags: list[int]


def vocabularies(examples: Sequence[NamesExample]) -> Vocabularies:
  """Returns the words and characters of documents."""
  words = Counter(
    x.text[start:end] for x in examples for sentence in x.sentences for start, end in sentence
  )
  characters = sorted({character for word in words for character in word})
  return Vocabularies((*SPECIAL, *words), (*PLAIN, *characters))


def sized(config: TenerConfig, vocabularies: Vocabularies, dropout: bool) -> TenerConfig:
  """Returns the sizes with those of vocabularies, with dropout or without any."""
  fields: dict[str, Any] = {} if dropout else dict.fromkeys(RATES, 0.0)
  fields |= {
    "vocab_size": len(vocabularies.words),
    "character_vocab_size": len(vocabularies.characters),
  }
  return dataclasses.replace(config, character_encoder="adatrans", **fields)


def indexed(row: Row) -> Indexed:
  """Returns the sentence of a row, without the ends."""
  assert row.extra is not None and row.labels is not None
  spelt = [[id for id in word if id] for word in row.extra[CHARACTERS][1:-1].tolist()]
  return Indexed(row.input_ids[1:-1].tolist(), spelt, row.labels[1:-1].tolist())


class OurTener:
  """Training by the engine's compiled step, and predictions as `luke-jax predict` makes them."""

  def __init__(self, path: Path, folder: Path, size: str, batch: int, dropout: bool):
    reading = Tagging(train=str(path), crf=True, context=False, scheme="BIOES")
    self.examples = reading.read(path, Faults())
    tokenizer = WholeWordTokenizer(vocabularies(self.examples))
    save_processor(Processor(tokenizer, SPECIAL_ENTITIES), folder)
    labels = reading.found_labels(self.examples)
    self.task: Any = dataclasses.replace(reading, text=str(folder), labels=labels)
    self.config = sized(SIZES[size], tokenizer.vocabularies, dropout)
    recipe = self.config.recipes["tagging"]
    options: dict[str, Any] = dict(recipe.optimizer)
    experiment = Experiment(
      model=self.config,
      task=self.task,
      data=Data(batch_size=batch, lengths=recipe.lengths),
      optimizer=Optimizer(recipe.learning_rate, **options),
    )
    self.batch, self.backbone = batch, experiment.backbone
    records = Running(self.task).records(self.backbone, "train")
    self.rows: Sequence[Row] = records.rows
    steps = max(1, len(records) // batch)
    experiment = dataclasses.replace(experiment, run=Run(steps=steps))
    self.program = Program(experiment, make_mesh(experiment.mesh, jax.devices()[:1]), steps)
    self.batches = self.program.training_batches(records)
    self.programs = {room: self.program.padded_to(room) for room in self.batches.rooms}
    start = time.perf_counter()
    self.steps: Any = {room: program.step for room, program in self.programs.items()}
    self.compiling = time.perf_counter() - start
    network = self.task.network(experiment.backbone)
    self.params = jax.device_get(initial_params(network, jax.random.key(0)))
    self.state = self.program.state_from(self.params)[0]
    self.model = ModelParts(network, self.params, labels, tokenizer)

  def train(self) -> None:
    """Trains for an epoch, rows included."""
    for number, rows in enumerate(self.batches.iterate(0, self.program.steps, workers=0)):
      room = self.batches.room(number)
      self.state, _ = self.steps[room](self.state, self.programs[room].placed(rows))
    jax.block_until_ready(self.state)

  def predict(self) -> list[str]:
    """Returns the tags of all sentences, one after the other."""
    pairs = predictions(self.model, self.task, self.examples)
    return [tag for _, tagged in pairs for tag in tagged.tags]

  def settle(self) -> None:
    """Predicts until some passes in a row compile nothing, as shapes are added where it pays."""
    heights, quiet = shapes_of(self.backbone).heights, 0
    while quiet < SETTLED:
      before = sum(map(len, heights.values()))
      self.predict()
      quiet = quiet + 1 if sum(map(len, heights.values())) == before else 0

  def logits(self, some: slice) -> list[np.ndarray]:
    """Returns the logits of the words of some sentences, without dropout."""
    rows, shapes = self.rows[some], shapes_of(self.backbone)
    logits = outputs(self.model, self.task, rows, SPECIAL_ENTITIES.pad_id, shapes)["logits"]
    return [x[1 : len(row.input_ids) - 1] for x, row in zip(logits, rows, strict=True)]

  def loss(self, some: slice) -> float:
    """Returns the mean loss of some sentences, without dropout."""
    arrays = Running(self.task).rows(self.backbone, self.rows[some], [])

    @jax.jit
    def loss(params: dict, arrays: dict) -> jax.Array:
      weights = self.task.weights(arrays)
      return self.task.loss(self.backbone, params, arrays, weights, None)[0]

    return float(loss(self.params, arrays))


class TheirTener:
  """Training and predictions as usual in PyTorch, batch by batch."""

  def __init__(self, ours: OurTener, batch: int):
    import torch

    from benchmarks import torch_tener

    config, labels, self.torch = ours.config, ours.model.labels, torch_tener
    tensors = dict(keys.to_torch(ours.params, config.keys("crf")))
    self.model = torch_tener.with_weights(config, len(labels), tensors)
    self.labels, self.batch = labels, batch
    self.legal = torch.tensor(legal_neighbours(labels, "BIOES"))
    self.indexed = [indexed(row) for row in ours.rows]
    settings: Any = ours.program.experiment.optimizer
    self.limit = settings.max_gradient
    self.optimizer = torch.optim.SGD(
      self.model.parameters(), settings.learning_rate, momentum=settings.beta1
    )
    tokenizer: Any = ours.model.tokenizer
    self.ids = {word: id for id, word in enumerate(tokenizer.vocabularies.words)}
    self.characters = {x: id for id, x in enumerate(tokenizer.vocabularies.characters)}
    self.sentences = [
      [example.text[start:end] for start, end in words]
      for example in ours.examples
      for words in example.sentences
    ]
    numbers = map(ours.batches.record_ids, range(ours.program.steps))
    self.trained = [[self.indexed[i] for i in of_batch] for of_batch in numbers]

  def train(self) -> None:
    """Trains for an epoch, of the same batches as ours."""
    import torch

    self.model.train()
    for some in self.trained:
      self.optimizer.zero_grad()
      self.model.loss(self.torch.padded(some)).backward()
      torch.nn.utils.clip_grad_value_(self.model.parameters(), self.limit)
      self.optimizer.step()

  def predict(self) -> list[str]:
    """Returns the tags of all sentences, one after the other."""
    import torch

    self.model.eval()
    tags: list[str] = []
    with torch.no_grad():
      for some in self._batches(self.sentences):
        inputs = self.torch.padded([self._read(words) for words in some])
        logits = self.model(inputs.words, inputs.characters)
        paths = self.model.crf.best(logits, inputs.words != 0, self.legal)
        tags += [self.labels[number] for path in paths for number in path]
    return tags

  def logits(self, some: slice) -> list[np.ndarray]:
    """Returns the logits of the words of some sentences, without dropout."""
    import torch

    chosen = self.indexed[some]
    inputs = self.torch.padded(chosen)
    with torch.no_grad():
      logits = self.model.eval()(inputs.words, inputs.characters).numpy()
    return [x[: len(sentence.words)] for x, sentence in zip(logits, chosen, strict=True)]

  def loss(self, some: slice) -> float:
    """Returns the mean loss of some sentences, without dropout."""
    return self.model.eval().loss(self.torch.padded(self.indexed[some])).item()

  def _batches(self, items: Sequence[object]) -> Iterator[Sequence[Any]]:
    return (items[i : i + self.batch] for i in range(0, len(items), self.batch))

  def _read(self, words: Sequence[str]) -> "Indexed":
    unknown = SPECIAL.index("[UNK]")
    ids = [self.ids.get(word, self.ids.get(word.lower(), unknown)) for word in words]
    spelt = [[self.characters.get(x, unknown) for x in word[:LONGEST_WORD]] for word in words]
    return Indexed(ids, spelt, [0] * len(words))


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
    ours = OurTener(path, Path(folder), size, batch, dropout)
    theirs = TheirTener(ours, batch)
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


def check_same(ours: OurTener, theirs: TheirTener) -> float:
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


def main(
  *,
  size: str = "tener-resume",
  train: Path | None = None,
  sentences: int = 512,
  batch: int = 16,
  rounds: int = 3,
  output: Path | None = None,
) -> None:
  """Times a TENER beside the same network in PyTorch, on one core.

  Both sides train for an epoch and then tag all sentences, in turns: with words and characters, the
  authors' SGD and a conditional random field. PyTorch's batches are padded to their longest
  sentence, and ours are those of `luke-jax train` and `luke-jax predict`. That both have the same
  logits and losses is checked first. Needs the extra `parity`.

      python -m benchmarks tener --size tener-weibo

  Args:
    size: A named size, such as tener-resume.
    train: File of sentences with tags; by default they are made up.
    sentences: Number of sentences to make up.
    batch: Sentences of a batch.
    rounds: Number of times each side runs.
    output: File for the figures, as JSON.
  """
  if output:
    check_place(output)
  with stderr_console().status(f"timing {size}"):
    result = run(size, train, sentences, batch, rounds, dropout=True)
  rates = {part: result.rates(part) for part in PARTS}
  ratios = {part: getattr(result, part).ratio for part in PARTS}
  print_figures(
    result,
    {"ratio": ratios, "sentences_per_second": rates},
    [_table(result)],
    f"{result.machine}; {result.versions}",
    output=output,
  )


def _table(result: TenerTimes) -> Table:
  title = (
    f"{result.size}, {result.sentences} sentences, {result.words} words, batches of {result.batch};"
    f" compiling the step took {result.compiling:.1f} s"
  )
  table = Table("sentences a second", "luke_jax", "PyTorch", "ratio", title=title)
  for part in PARTS:
    rates = [f"{rate:.1f}" for rate in result.rates(part).values()]
    table.add_row(part, *rates, f"{getattr(result, part).ratio:.2f}")
  return table
