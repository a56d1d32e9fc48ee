"""TENER in PyTorch, written from the paper's formulas: the other side of benchmarks/tener.py.

Needs PyTorch. Tensors are padded to the longest sentence and the longest word of their batch.
"""

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from luke_jax.systems.tener import TenerConfig

PAD, UNKNOWN = 0, 1
# Names of tensors in a model's files, and of the modules here.
_NAMES = (
  ("tener.", ""),
  ("word_embeddings", "word"),
  ("character_embeddings", "characters.table"),
  ("encoder.layer", "layers"),
  ("attention.self", "attention"),
  ("attention.output.LayerNorm", "attention_norm"),
  ("intermediate.dense", "up"),
  ("output.dense", "down"),
  ("output.LayerNorm", "norm"),
)


class Inputs(NamedTuple):
  """Padded ids of a batch: words (B, W), their characters (B, W, L), and tags (B, W)."""

  words: torch.Tensor
  characters: torch.Tensor
  tags: torch.Tensor


def padded(sentences: Sequence[Any]) -> Inputs:
  """Returns a batch of sentences, each with `words`, `characters` of each word and `tags`."""
  size = len(sentences), max(len(x.words) for x in sentences)
  longest = max(len(word) for x in sentences for word in x.characters)
  words, tags = np.full(size, PAD), np.zeros(size, np.int64)
  characters = np.full((*size, longest), PAD)
  for i, sentence in enumerate(sentences):
    words[i, : len(sentence.words)] = sentence.words
    tags[i, : len(sentence.tags)] = sentence.tags
    for word, ids in zip(characters[i], sentence.characters, strict=False):
      word[: len(ids)] = ids
  return Inputs(*map(torch.from_numpy, (words, characters, tags)))


@functools.lru_cache(maxsize=256)
def distances(length: int, width: int) -> torch.Tensor:
  """Returns R (2 L, H) of the distances from length - 1 down: sine and cosine in turn."""
  rates = torch.exp(torch.arange(0, width, 2) * (-math.log(10000) / width))
  angles = torch.arange(length - 1, -length - 1, -1)[:, None] * rates
  return torch.stack([angles.sin(), angles.cos()], -1).reshape(2 * length, width)


def shifted(by_distance: torch.Tensor) -> torch.Tensor:
  """Returns scores (..., L, L) by place of those by distance (..., L, 2 L), without a copy.

  Row t of the result begins length - 1 - t values after the start of its own row, so each begins
  one value less than a row after the one before.
  """
  length = by_distance.shape[-2]
  flat = by_distance.flatten(-2)[..., length - 1 :][..., : length * (2 * length - 1)]
  return flat.unflatten(-1, (length, 2 * length - 1))[..., :length]


class TorchAttention(nn.Module):
  """Attention whose keys are the states, with the distance of query and key."""

  def __init__(self, width: int, heads: int, dropout: float):
    super().__init__()
    self.heads, self.dropout = heads, nn.Dropout(dropout)
    self.query, self.value = (nn.Linear(width, width, bias=False) for _ in range(2))
    self.for_keys = nn.Parameter(torch.zeros(heads, width // heads))
    self.for_distances = nn.Parameter(torch.zeros(heads, width // heads))

  def forward(self, x: torch.Tensor, padding: torch.Tensor) -> torch.Tensor:
    """Maps (B, L, D) to the same shape."""
    query, key, value = (
      y.unflatten(-1, (self.heads, -1)).transpose(1, 2) for y in (self.query(x), x, self.value(x))
    )
    content = (query + self.for_keys[:, None]) @ key.transpose(-1, -2)
    by_distance = (query + self.for_distances[:, None]) @ distances(*query.shape[2:]).T
    scores = content + shifted(by_distance)
    scores = scores.masked_fill(padding[:, None, None, :], torch.finfo(scores.dtype).min)
    probs = self.dropout(scores.softmax(-1))
    return (probs @ value).transpose(1, 2).flatten(2)


class TorchLayer(nn.Module):
  """Attention and two linear layers, each added to its input and normalised."""

  def __init__(self, width: int, heads: int, hidden: int, config: TenerConfig):
    super().__init__()
    epsilon, rate = config.layer_norm_eps, config.hidden_dropout_prob
    self.attention = TorchAttention(width, heads, config.attention_probs_dropout_prob)
    self.attention_norm, self.norm = (nn.LayerNorm(width, epsilon) for _ in range(2))
    self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width)
    self.dropout = nn.Dropout(rate)

  def forward(self, x: torch.Tensor, padding: torch.Tensor) -> torch.Tensor:
    """Maps (B, L, D) to the same shape."""
    x = self.attention_norm(x + self.attention(x, padding))
    hidden = self.dropout(functional.relu(self.up(x)))
    return self.norm(x + self.dropout(self.down(hidden)))


class Characters(nn.Module):
  """Vector of a word: the largest values over its characters in context."""

  def __init__(self, config: TenerConfig):
    super().__init__()
    width = config.character_size
    self.table = nn.Embedding(config.character_vocab_size, width)
    self.dropout = nn.Dropout(config.character_dropout)
    self.layer = TorchLayer(width, config.num_character_heads, 2 * width, config)
    self.output = nn.Linear(width, width)

  def forward(self, ids: torch.Tensor) -> torch.Tensor:
    """Maps the characters of words (B, W, L) to (B, W, D)."""
    flat = ids.flatten(0, 1)
    padding = flat == PAD
    x = self.dropout(self.table(flat)).masked_fill(padding[..., None], 0)
    x = functional.relu(self.layer(x, padding)).masked_fill(padding[..., None], 0)
    return self.output(x.max(1).values).unflatten(0, ids.shape[:2])


class TorchChain(nn.Module):
  """Linear-chain conditional random field; every step is of the whole batch."""

  def __init__(self, labels: int):
    super().__init__()
    self.transitions = nn.Parameter(torch.zeros(labels, labels))
    self.start_transitions, self.end_transitions = (
      nn.Parameter(torch.zeros(labels)) for _ in range(2)
    )

  def losses(self, emissions: torch.Tensor, tags: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Returns the negative log-likelihood of each sentence (B,)."""
    lengths = mask.sum(1, keepdim=True)
    emitted = (emissions.gather(2, tags[..., None])[..., 0] * mask).sum(1)
    moved = (self.transitions[tags[:, :-1], tags[:, 1:]] * mask[:, 1:]).sum(1)
    ends = self.end_transitions[tags.gather(1, lengths - 1)[:, 0]]
    scores = self.start_transitions[tags[:, 0]] + emitted + moved + ends
    sums, *later = emissions.unbind(1)
    sums = sums + self.start_transitions
    for now, real in zip(later, mask[:, 1:, None].unbind(1), strict=True):
      joined = torch.logsumexp(sums[:, :, None] + self.transitions, 1) + now
      sums = torch.where(real, joined, sums)
    return torch.logsumexp(sums + self.end_transitions, 1) - scores

  def best(
    self, emissions: torch.Tensor, mask: torch.Tensor, legal: torch.Tensor
  ) -> list[list[int]]:
    """Returns the best legal path of each sentence; `legal` (C + 2, C) is as our chain's."""
    scores = [self.transitions, self.start_transitions[None], self.end_transitions[None]]
    chain = torch.cat(scores).masked_fill(~legal, -1e4)
    best, *later = emissions.unbind(1)
    best, pointers, stay = best + chain[-2], [], torch.arange(len(chain) - 2)
    for now, real in zip(later, mask[:, 1:, None].unbind(1), strict=True):
      joined, came_from = (best[:, :, None] + chain[:-2]).max(1)
      best = torch.where(real, joined + now, best)
      pointers.append(torch.where(real, came_from, stay))
    path = [(best + chain[-1]).argmax(1)]
    for came_from in reversed(pointers):
      path.append(came_from.gather(1, path[-1][:, None])[:, 0])
    paths = torch.stack(path[::-1], 1).tolist()
    return [row[:n] for row, n in zip(paths, mask.sum(1).tolist(), strict=True)]


class Tener(nn.Module):
  """Words and their characters in context, as logits of tags."""

  def __init__(self, config: TenerConfig, labels: int):
    super().__init__()
    d = config.hidden_size
    self.config, self.word = config, nn.Embedding(config.vocab_size, config.word_size)
    self.characters, self.crf = Characters(config), TorchChain(labels)
    self.input = nn.Linear(config.word_size + config.character_size, d)
    self.layers = nn.ModuleList(
      TorchLayer(d, config.num_attention_heads, config.intermediate_size, config)
      for _ in range(config.num_hidden_layers)
    )
    self.classifier = nn.Linear(d, labels)
    self.embedding_dropout = nn.Dropout(config.embedding_dropout)
    self.classifier_dropout = nn.Dropout(config.classifier_dropout)

  def forward(self, words: torch.Tensor, characters: torch.Tensor) -> torch.Tensor:
    """Returns logits (B, W, C)."""
    padding = words == PAD
    if self.training and self.config.word_dropout:
      unknown = torch.rand(words.shape) < self.config.word_dropout
      words = words.masked_fill(unknown, UNKNOWN)
      characters = characters.masked_fill(unknown[..., None], PAD)
    x = torch.cat([self.embedding_dropout(self.word(words)), self.characters(characters)], -1)
    x = self.input(x)
    for layer in self.layers:
      x = layer(x, padding)
    return self.classifier(self.classifier_dropout(x))

  def loss(self, inputs: Inputs) -> torch.Tensor:
    """Returns the mean of the losses of the sentences of a batch."""
    logits = self.forward(inputs.words, inputs.characters)
    return self.crf.losses(logits, inputs.tags, inputs.words != PAD).mean()


def state_of(tensors: Mapping[str, np.ndarray]) -> dict[str, torch.Tensor]:
  """Returns the tensors of a model's files by their names here."""
  state = {}
  for name, array in tensors.items():
    for theirs, here in _NAMES:
      name = name.replace(theirs, here)
    state[name] = torch.tensor(array)
  return state


def with_weights(config: TenerConfig, labels: int, tensors: Mapping[str, np.ndarray]) -> Tener:
  """Returns the network with the tensors of a model's files."""
  model = Tener(config, labels)
  model.load_state_dict(state_of(tensors))
  return model
