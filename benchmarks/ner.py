"""Benchmark of named entity recognition against the usual loop over sentences.

The usual loop runs transformers on batches of sentences with all their spans.
"""

import dataclasses
import itertools
import random
import tempfile
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import jax
import numpy as np
from rich.table import Table
from tyro.conf import Positional, arg

from benchmarks.figures import print_figures
from benchmarks.sides import devices, share_gpu, torch_device
from benchmarks.text import made_up
from benchmarks.timing import Timing, alternate, imported
from luke_jax.cli.process import stderr_console
from luke_jax.convert.parts import ModelParts
from luke_jax.convert.saving import save
from luke_jax.errors import InputError
from luke_jax.files import Path, check_place
from luke_jax.inference.batches import outputs, shapes_of
from luke_jax.models.network import initial_params, on_backbone
from luke_jax.models.system import Backbone, Running
from luke_jax.nn.layers import Dtype
from luke_jax.systems.luke import SIZES
from luke_jax.tasks.ner.documents import NamesExample
from luke_jax.tasks.ner.task import NIL, NamedEntities
from luke_jax.tasks.running import fitted
from luke_jax.text import Processor, Row, Tokenizer, load_tokenizer
from luke_jax.text.entity_vocab import SPECIAL_ENTITIES
from luke_jax.text.tokenizer import Bounds

LABELS = (NIL, "LOC", "MISC", "ORG", "PER")
BATCH = 8  # sentences of the usual loop
DOCUMENT = (200, 400)  # words
# Mean and deviation of the log of a sentence's words, as in SQuAD's passages.
SENTENCE, LONGEST = (3.18, 0.52), 64
PREDICTED = 0.02  # share of the spans that the random model predicts to be entities
# All spans of a sentence are in one row, as in the usual loop, since they attend to each other.
TASK = NamedEntities(labels=LABELS, context=False, entities=1024)

Predicted = set[tuple[int, int, int, str]]  # document, start, end, label


@dataclasses.dataclass(frozen=True)
class NerTimes:
  """Measurements of one run."""

  machine: str
  versions: dict[str, str]
  size: str
  documents: int
  sentences: int
  words: int
  spans: int
  dtype: Dtype  # of our products
  their_dtype: Dtype  # as ours on a GPU, else float32
  entities: int  # that both sides predict
  different: int  # that one side predicts alone
  timing: Timing  # of all documents

  @property
  def sentences_per_second(self) -> dict[str, float]:
    """Returns the sentences per second of ours and theirs."""
    return {side: self.sentences / self.timing.median(side) for side in ("ours", "theirs")}


def run(directory: Path, size: str, dtype: Dtype, documents: int, rounds: int) -> NerTimes:
  """Times both sides in turn; in float32, once they are seen to predict the same entities."""
  torch, transformers = imported("torch", "transformers")
  if size not in SIZES:
    raise InputError(f"{size}: unknown size; expected one of {', '.join(SIZES)}")
  for name, number in (("documents", documents), ("rounds", rounds)):
    if number < 1:
      raise InputError(f"{name}: {number}; expected 1 or more")
  share_gpu()
  device = torch_device()
  their_dtype: Dtype = dtype if device == "cuda" else "float32"
  tokenizer = load_tokenizer(directory)
  examples = made_up_documents(tokenizer, documents)
  model = random_model(tokenizer, size, examples)
  usual = UsualLoop(model, examples, device, their_dtype)
  backbone = dataclasses.replace(model.network.backbone, running=Running(dtype=dtype))
  ours = dataclasses.replace(model, network=on_backbone(model.network, backbone))
  # On a GPU, JAX's products of float32 are otherwise in TF32, and those of PyTorch are not.
  with jax.default_matmul_precision("highest" if dtype == "float32" else None):
    predicted, expected = entities_of(ours, examples), usual()
    if dtype == "float32":
      check_same(predicted, expected)
    timing = alternate(lambda: entities_of(ours, examples), usual, rounds)
  versions = {"jax": jax.__version__, "torch": torch.__version__}
  return NerTimes(
    machine=devices(),
    versions=versions | {"transformers": transformers.__version__},
    size=size,
    documents=documents,
    sentences=len(usual.sentences),
    words=sum(len(words) for _, words in usual.sentences),
    spans=sum(len(spans_of(words)) for _, words in usual.sentences),
    dtype=dtype,
    their_dtype=their_dtype,
    entities=len(predicted & expected),
    different=len(predicted ^ expected),
    timing=timing,
  )


def made_up_documents(tokenizer: Tokenizer, number: int) -> list[NamesExample]:
  """Returns documents of random words of the vocabulary, in sentences."""
  rng = random.Random(0)
  words = itertools.cycle(" ".join(made_up(tokenizer)).replace(".", "").split())
  return [_document(rng, words, str(i)) for i in range(number)]


def _document(rng: random.Random, words: Iterator[str], id: str) -> NamesExample:
  remaining, sentences = rng.randint(*DOCUMENT), []
  while remaining > 0:
    length = min(max(2, round(rng.lognormvariate(*SENTENCE))), LONGEST, max(2, remaining))
    sentences.append(" ".join(itertools.islice(words, length - 1)) + ".")
    remaining -= length
  text, edges = " ".join(sentences), []
  for sentence in sentences:
    start = edges[-1][1] + 1 if edges else 0
    edges.append([start, start + len(sentence)])
  return TASK.parse({"text": text, "sentences": edges}, id, f"document {id}")


def random_model(tokenizer: Tokenizer, size: str, examples: Sequence[NamesExample]) -> ModelParts:
  """Returns a model with random parameters that predicts a small share of spans as entities."""
  config = dataclasses.replace(
    SIZES[size],
    vocab_size=tokenizer.vocab_size,
    entity_vocab_size=len(SPECIAL_ENTITIES),
    entity_padding_id=SPECIAL_ENTITIES.pad_id,
  )
  network = TASK.network(Backbone(config))
  params = jax.device_get(initial_params(network, jax.random.key(0)))
  processor = fitted(TASK, Processor(tokenizer, SPECIAL_ENTITIES))
  model = ModelParts(network, params, LABELS, tokenizer, processor)
  logits = np.concatenate(_logits(model, examples)[1])
  margin = logits[:, 1:].max(axis=-1) - logits[:, 0]
  bias = np.zeros(len(LABELS), np.float32)
  bias[0] = np.quantile(margin, 1 - PREDICTED)
  classifier = {**params["classifier"], "bias": bias}
  return dataclasses.replace(model, params={**params, "classifier": classifier})


def entities_of(model: ModelParts, examples: Sequence[NamesExample]) -> Predicted:
  """Returns the entities that our side predicts."""
  rows, logits = _logits(model, examples)
  predictions = TASK.decode(examples, rows, {"logits": logits})
  return {
    (number, span.start, span.end, span.label)
    for number, spans in enumerate(predictions)
    for span in spans
  }


def _logits(
  model: ModelParts, examples: Sequence[NamesExample]
) -> tuple[list[Row], list[np.ndarray]]:
  processor: Any = model.processor
  rows = TASK.features(processor, examples)
  shapes = shapes_of(model.backbone)
  logits = outputs(model, TASK, rows, processor.entity_vocab.pad_id, shapes)["logits"]
  return rows, [x[: len(row.entity_ids)] for x, row in zip(logits, rows, strict=True)]


class UsualLoop:
  """Usual loop with transformers: all spans of 8 sentences at a time, in the order given."""

  def __init__(
    self, model: ModelParts, examples: Sequence[NamesExample], device: str, dtype: Dtype
  ):
    import torch
    import transformers

    self.sentences = [(i, words) for i, x in enumerate(examples) for words in x.sentences]
    self._texts, self._device = [example.text for example in examples], device
    with tempfile.TemporaryDirectory() as folder:
      save(model, folder)
      reference: Any = transformers.LukeForEntitySpanClassification
      self._model = reference.from_pretrained(folder, dtype=getattr(torch, dtype)).eval()
      self._tokenizer = transformers.LukeTokenizer.from_pretrained(folder, task=TASK.text_task)
    self._model.to(device)

  def __call__(self) -> Predicted:
    """Returns the entities that it predicts."""
    predicted: Predicted = set()
    for first in range(0, len(self.sentences), BATCH):
      predicted |= self._predicted(self.sentences[first : first + BATCH])
    return predicted

  def _predicted(self, sentences: Sequence[tuple[int, Sequence[Bounds]]]) -> Predicted:
    import torch

    texts = [self._texts[i][words[0][0] : words[-1][1]] for i, words in sentences]
    spans = [spans_of(words) for _, words in sentences]
    inputs = self._tokenizer(texts, entity_spans=spans, padding=True, return_tensors="pt")
    with torch.no_grad():
      logits = self._model(**inputs.to(self._device)).logits.float().cpu()
    return {
      (i, words[0][0] + start, words[0][0] + end, label)
      for (i, words), of_sentence, row in zip(sentences, spans, logits, strict=True)
      for start, end, label in best_spans(of_sentence, row[: len(of_sentence)].numpy())
    }


def spans_of(words: Sequence[Bounds]) -> list[Bounds]:
  """Returns all spans of a sentence's words that may be entities, in the sentence's characters."""
  offset = words[0][0]
  return [
    (start - offset, end - offset)
    for i, (start, _) in enumerate(words)
    for _, end in words[i : i + TASK.span_words]
  ]


def best_spans(spans: Sequence[Bounds], logits: np.ndarray) -> Iterator[tuple[int, int, str]]:
  """Yields the spans that are entities, except those that overlap one with a higher logit."""
  labels, best = logits.argmax(axis=-1), logits.max(axis=-1)
  selected: list[Bounds] = []
  for i in sorted(labels.nonzero()[0].tolist(), key=lambda i: -best[i]):
    start, end = spans[i]
    if all(end <= other[0] or other[1] <= start for other in selected):
      selected.append(spans[i])
      yield start, end, LABELS[labels[i]]


def check_same(ours: Predicted, theirs: Predicted) -> None:
  """Raises InputError unless both sides predict the same entities."""
  if ours != theirs:
    raise InputError(
      f"{len(ours ^ theirs)} entities are predicted by one side only, {len(ours & theirs)} by both;"
      " expected equal predictions"
    )


def main(
  directory: Annotated[Path, Positional, arg(metavar="DIRECTORY")],
  /,
  *,
  size: str = "luke-base",
  dtype: Dtype = "float32",
  documents: int = 4,
  rounds: int = 3,
  output: Path | None = None,
) -> None:
  """Times named entity recognition against the usual transformers loop.

  A model with random parameters reads documents of 200 to 400 made-up words, sentence by sentence
  with all spans up to 16 words, on both sides, which take turns. The usual loop is in float32, on a
  GPU in the type of ours, and pads 8 sentences at a time, as they come. That both find the same
  entities is checked first; in bfloat16 those that only one side finds are counted. Needs the extra
  `parity`.

      python -m benchmarks ner luke-base --documents 4

  Args:
    directory: Directory with a tokenizer, such as a model's.
    size: A named size, such as luke-base.
    dtype: Type of luke_jax's products.
    documents: Number of documents.
    rounds: Number of times each side runs.
    output: File for the figures, as JSON.
  """
  if output:
    check_place(output)
  with stderr_console().status(f"timing {size}"):
    result = run(directory, size, dtype, documents, rounds)
  rates = result.sentences_per_second
  counts = {"entities": result.entities, "different": result.different}
  summary = {"ratio": result.timing.ratio, "sentences_per_second": rates, **counts}
  print_figures(
    result, summary, [_table(result)], f"{result.machine}; {result.versions}", output=output
  )


def _table(result: NerTimes) -> Table:
  title = (
    f"{result.size}, {result.dtype}, {result.documents} documents: {result.sentences} sentences,"
    f" {result.words} words, {result.spans} spans; batches of {BATCH}"
  )
  table = Table("", "luke_jax", "transformers", "ratio", title=title)
  rates = [f"{rate:.2f}" for rate in result.sentences_per_second.values()]
  table.add_row("sentences a second", *rates, f"{result.timing.ratio:.2f}")
  return table
