"""An ATLOP in PyTorch, from the formulas of Zhou et al. (AAAI 2021), and its training.

Marks around mentions, localised context pooling, a bilinear form in groups, and a loss with a
threshold for each pair. Vectors of names and attention are those of the mark before a mention.
"""

import copy
import itertools
import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn.utils import parametrize

from luke_jax.tasks.facts.files import FactsExample

MARK, IGNORED, NEVER = "*", -100, -1e9
GROUPS = 12  # of the bilinear form
ROUND_PIECES, ROUND_PAIRS = 64, 512  # few shapes, as products are compiled for each
WARMUP, CLIP, EPSILON = 0.06, 1.0, 1e-6


class Settings(NamedTuple):
  """Settings of a training."""

  rate: float  # of the encoder, the highest
  head_rate: float  # of all that is new
  epochs: int
  batch: int
  seed: int
  every: int


class Document(NamedTuple):
  """Pieces of a text with a mark on both sides of each mention, and where the first ones stand."""

  ids: list[int]
  starts: list[list[int]]  # of each name
  targets: torch.Tensor  # (N, N, C): 1, 0 or -100


def document(example: FactsExample, tokenizer: Any, labels: Sequence[str]) -> Document:
  """Returns the inputs and the targets of a text."""
  pieces = tokenizer(example.text, add_special_tokens=False, return_offsets_mapping=True)
  mark, bounds = tokenizer.convert_tokens_to_ids(MARK), pieces["offset_mapping"]
  opening: dict[int, list[int]] = {}
  closing: dict[int, int] = {}
  for number, name in enumerate(example.names):
    for start, end in name.mentions:
      inside = [i for i, (a, b) in enumerate(bounds) if a < end and b > start]
      if inside:
        opening.setdefault(inside[0], []).append(number)
        closing[inside[-1]] = closing.get(inside[-1], 0) + 1
  ids: list[int] = [tokenizer.cls_token_id]
  starts: list[list[int]] = [[] for _ in example.names]
  for place, id in enumerate(pieces["input_ids"]):
    for number in opening.get(place, ()):
      starts[number].append(len(ids))
      ids.append(mark)
    ids += [id, *[mark] * closing.get(place, 0)]
  count, numbers = len(starts), {x: i for i, x in enumerate(labels)}
  targets = torch.zeros(count, count, len(labels))
  for value, facts in ((IGNORED, example.unknown), (1, example.facts or ())):
    for fact in facts:
      if not fact.label or fact.label in numbers:
        which = numbers[fact.label] if fact.label else slice(None)
        targets[fact.head, fact.tail, which] = value
  starts = [x or [0] for x in starts]
  return Document([*ids, tokenizer.sep_token_id], starts, targets)


class Atlop(nn.Module):
  """Scores of relations above the threshold of each pair of names."""

  def __init__(self, encoder: Any, labels: int, bfloat16: bool):
    super().__init__()
    self.bfloat16 = bfloat16
    width = encoder.config.hidden_size
    self.encoder, self.block = encoder, width // GROUPS
    self.head, self.tail = (nn.Linear(2 * width, width) for _ in range(2))
    self.bilinear = nn.Linear(width * self.block, labels + 1)

  def forward(self, documents: Sequence[Document]) -> list[torch.Tensor]:
    """Returns the logits (N, N, C) of each text, those of the threshold taken off."""
    sides, shapes = [], []
    for x, (states, looks) in zip(documents, self._encoded(documents), strict=True):
      e = torch.stack([states[places].logsumexp(0) for places in x.starts])  # (N, D)
      of_names = looks.split([len(places) for places in x.starts], 1)
      a = torch.stack([y.mean(1) for y in of_names])  # (N, A, L)
      both = torch.einsum("nal,mal->nml", a, a)
      context = (both / (both.sum(-1, keepdim=True) + 1e-5)) @ states  # (N, N, D)
      pairs = (e[:, None].expand_as(context), e[None].expand_as(context))
      sides.append([torch.cat([y, context], -1).flatten(0, 1) for y in pairs])
      shapes.append(context.shape[:2])
    logits = self._scored(*(torch.cat(x) for x in zip(*sides, strict=True)))
    split = logits.split([n * m for n, m in shapes])
    return [x.unflatten(0, shape) for x, shape in zip(split, shapes, strict=True)]

  def _scored(self, heads: torch.Tensor, tails: torch.Tensor) -> torch.Tensor:
    """Returns the logits (P, C) of pairs."""
    with torch.autocast("cpu", torch.bfloat16, enabled=self.bfloat16):
      room = (0, 0, 0, -len(heads) % ROUND_PAIRS)
      head, tail = (
        torch.tanh(layer(nn.functional.pad(x, room))).unflatten(-1, (-1, self.block))
        for layer, x in ((self.head, heads), (self.tail, tails))
      )
      logits = self.bilinear((head[..., :, None] * tail[..., None, :]).flatten(1)).float()
    logits = logits[: len(heads)]
    return logits[:, :-1] - logits[:, -1:]

  def _encoded(self, documents: Sequence[Document]) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Yields the states of each text and what each mark looks at (A, M, L), in the last layer.

    A long text is read in two windows.
    """
    most = self.encoder.config.max_position_embeddings
    rows = [row for x in documents for row in _windows(x.ids, most)]
    longest = max(len(ids) for _, ids in rows)
    longest = min(most, longest + -longest % ROUND_PIECES)
    padded = torch.tensor([ids + [0] * (longest - len(ids)) for _, ids in rows])
    mask = torch.tensor([[1] * len(ids) + [0] * (longest - len(ids)) for _, ids in rows])
    heads = self.encoder.config.num_attention_heads
    with torch.autocast("cpu", torch.bfloat16, enabled=self.bfloat16):
      out = self.encoder(input_ids=padded, attention_mask=mask, output_hidden_states=True)
      last, before = self.encoder.encoder.layer[-1].attention.self, out.hidden_states[-2]
      asked, keys = (
        y(before).float().unflatten(-1, (heads, -1)).transpose(1, 2) for y in (last.query, last.key)
      )
    read = zip(rows, out.last_hidden_state.float(), asked, keys, strict=True)
    for x in documents:
      size, marks = len(x.ids), torch.tensor([place for places in x.starts for place in places])
      states, times = torch.zeros(size, out.last_hidden_state.shape[-1]), torch.zeros(size)
      looks = torch.zeros(heads, len(marks), size)
      for (first, ids), s, q, k in itertools.islice(read, len(_windows(x.ids, most))):
        n, at = len(ids), slice(first, first + len(ids))
        states[at] += s[:n]
        times[at] += 1
        there = (marks >= first) & (marks < first + n)
        scores = q[:, marks[there] - first] @ k[:, :n].transpose(1, 2) / q.shape[-1] ** 0.5
        looks[:, there, at] += scores.float().softmax(-1)
      yield states / times[:, None], looks / times[marks][:, None]


def _windows(ids: list[int], most: int) -> list[tuple[int, list[int]]]:
  """Returns the first place and the pieces of one window, or of the first and the last."""
  if len(ids) <= most:
    return [(0, ids)]
  return [(0, ids[:most]), (len(ids) - most, ids[-most:])]


def loss_of(logits: Sequence[torch.Tensor], documents: Sequence[Document]) -> torch.Tensor:
  """Returns the mean over pairs: what holds is above the threshold, and that above the rest."""
  flat = [x[~torch.eye(len(x), dtype=torch.bool)] for x in logits]
  told = [x.targets[~torch.eye(len(x.starts), dtype=torch.bool)] for x in documents]
  given, targets = torch.cat(flat), torch.cat(told)
  right, wrong = (
    nn.functional.pad(given.masked_fill(targets != which, NEVER), (0, 1)).logsumexp(-1)
    for which in (1, 0)
  )
  return (((right[:, None] - given) * (targets == 1)).sum(-1) + wrong).mean()


class LowRank(nn.Module):
  """A matrix that stays, and a product of two narrow ones that train."""

  def __init__(self, shape: torch.Size, rank: int):
    super().__init__()
    self.up = nn.Parameter(torch.zeros(shape[0], rank))
    self.down = nn.Parameter(torch.randn(rank, shape[1]) / shape[1] ** 0.5)

  def forward(self, weight: torch.Tensor) -> torch.Tensor:
    """Returns the sum."""
    return weight + self.up @ self.down


def add_adapters(encoder: Any, rank: int) -> None:
  """Freezes an encoder but for adapters beside the matrices of its layers."""
  encoder.requires_grad_(False)
  for layer in list(encoder.encoder.modules()):
    if isinstance(layer, nn.Linear):
      parametrize.register_parametrization(layer, "weight", LowRank(layer.weight.shape, rank))


def batches(
  documents: Sequence[Document], size: int, drawn: random.Random
) -> Iterator[list[Document]]:
  """Yields all documents in batches of similar lengths, by chance."""
  order = drawn.sample(documents, len(documents))
  pools = (order[i : i + 16 * size] for i in range(0, len(order), 16 * size))
  sorted_ones = [x for pool in pools for x in sorted(pool, key=lambda x: len(x.ids))]
  made = [sorted_ones[i : i + size] for i in range(0, len(sorted_ones), size)]
  yield from drawn.sample(made, len(made))


def train(
  model: Atlop, documents: Sequence[Document], settings: Settings, score: Callable[[], float]
) -> None:
  """Trains a model, and leaves it as it was where it scored best."""
  drawn, best, kept = random.Random(settings.seed), -1.0, model.state_dict()
  own = [x for x in model.encoder.parameters() if x.requires_grad]
  of_head = [x for y in (model.head, model.tail, model.bilinear) for x in y.parameters()]
  groups = [{"params": own, "lr": settings.rate}, {"params": of_head, "lr": settings.head_rate}]
  optimizer = torch.optim.AdamW(groups, eps=EPSILON, fused=True)
  steps = settings.epochs * -(-len(documents) // settings.batch)
  warmup = max(1, int(WARMUP * steps))
  schedule = torch.optim.lr_scheduler.LambdaLR(
    optimizer, lambda step: min(step / warmup, (steps - step) / max(1, steps - warmup))
  )
  start, losses, scoring = time.process_time(), [], 0.0
  for epoch in range(1, settings.epochs + 1):
    model.train()
    for batch in batches(documents, settings.batch, drawn):
      loss = loss_of(model(batch), batch)
      loss.backward()
      torch.nn.utils.clip_grad_norm_([*own, *of_head], CLIP)
      optimizer.step()
      schedule.step()
      optimizer.zero_grad()
      losses.append(loss.item())
    if epoch % settings.every == 0 or epoch == settings.epochs:
      before = time.process_time()
      now = score()
      scoring += time.process_time() - before
      each = (time.process_time() - start - scoring) / (epoch * steps / settings.epochs)
      line = {"epoch": epoch, "loss": round(sum(losses) / len(losses), 4), "dev_f1": round(now, 4)}
      print(json.dumps(line | {"processor_seconds_a_step": round(each, 3)}), flush=True)
      losses = []
      if now > best:
        best, kept = now, copy.deepcopy(model.state_dict())
  model.load_state_dict(kept)
