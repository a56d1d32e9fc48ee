"""The reference's model classes at any size, with inputs, outputs, loss and gradients.

Imported where torch is installed only: by the script that makes the goldens and by the live
parity tests.
"""

import dataclasses

import numpy as np
import torch
import transformers
from torch import nn

CLASSES = (
  "LukeModel",
  "LukeForMaskedLM",
  "LukeForEntityClassification",
  "LukeForEntityPairClassification",
  "LukeForEntitySpanClassification",
  "LukeForQuestionAnswering",
  "LukeForSequenceClassification",
  "LukeForTokenClassification",
  "LukeForMultipleChoice",
)
NUM_LABELS = 5


def tiny_config(**fields) -> transformers.LukeConfig:
  """Small enough for a golden file, and every size another number."""
  sizes = {
    "vocab_size": 40,
    "entity_vocab_size": 12,
    "hidden_size": 16,
    "entity_emb_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 20,
    "type_vocab_size": 1,
    "layer_norm_eps": 1e-5,
    "bert_model_name": "roberta-base",
    "num_labels": NUM_LABELS,
  }
  return transformers.LukeConfig(**(sizes | fields), attn_implementation="eager")


class Cloze(nn.Module):
  """ReCoRD's head as the authors' code has it; transformers has no such class."""

  def __init__(self, config):
    super().__init__()
    self.luke = transformers.LukeModel(config)
    self.scorer = nn.Linear(2 * config.hidden_size, 1)

  def forward(self, labels, **inputs):
    outputs = self.luke(**inputs)
    entities = outputs.entity_last_hidden_state
    pairs = torch.cat([entities[:, :1].expand_as(entities[:, 1:]), entities[:, 1:]], dim=2)
    outputs["logits"] = self.scorer(pairs)[..., 0]
    kept = labels != -100
    outputs["loss"] = nn.functional.binary_cross_entropy_with_logits(
      outputs["logits"][kept], labels[kept].float()
    )
    return outputs


class PageEntity(transformers.LukeForMaskedLM):
  """Pretraining with the regression of the page's own entity, which transformers dropped."""

  def __init__(self, config):
    super().__init__(config)
    self.cls_entity_predictions = nn.Module()
    self.cls_entity_predictions.decoder = nn.Linear(
      config.hidden_size, config.entity_emb_size, bias=False
    )
    self.cls_entity_predictions.bias = nn.Parameter(torch.zeros(config.entity_emb_size))

  def forward(self, page_entity_embedding, **inputs):
    outputs = super().forward(**inputs)
    page = self.cls_entity_predictions
    vector = page.decoder(outputs_first_word(self, inputs)) + page.bias
    outputs["page_entity"] = vector
    outputs["loss"] = outputs["loss"] + nn.functional.mse_loss(vector, page_entity_embedding)
    return outputs


def outputs_first_word(model, inputs):
  """State of the first word, from a second pass."""
  plain = {k: v for k, v in inputs.items() if "labels" not in k and "output_" not in k}
  return model.luke(**plain).last_hidden_state[:, 0]


class PairWithBias(transformers.LukeForEntityPairClassification):
  """The pair classifier of the KBP37 checkpoint, which has a bias."""

  def __init__(self, config):
    super().__init__(config)
    self.classifier = nn.Linear(2 * config.hidden_size, config.num_labels)


OURS = {  # made here, and the architecture they stand for
  "Cloze": (Cloze, "LukeForCloze"),
  "PageEntity": (PageEntity, "LukeForMaskedLM"),
  "PairWithBias": (PairWithBias, "LukeForEntityPairClassification"),
}


def make_model(name: str, config, seed: int = 0) -> nn.Module:
  """A random model with no value at a special place: biases and norms are random too."""
  torch.manual_seed(seed)
  model = OURS[name][0](config) if name in OURS else getattr(transformers, name)(config)
  with torch.no_grad():
    for parameter in model.parameters():
      parameter.copy_(torch.randn_like(parameter) * 0.2)
    for norm in (m for m in model.modules() if isinstance(m, nn.LayerNorm)):
      norm.weight.add_(1)
    if hasattr(model, "lm_head"):  # transformers 5 lost this tie
      model.lm_head.decoder.weight.copy_(model.luke.embeddings.word_embeddings.weight)
  return model.eval()


@dataclasses.dataclass(frozen=True)
class Shape:
  """Sizes of a batch."""

  batch: int = 3
  words: int = 11
  entities: int = 4
  mention: int = 3


def make_inputs(name: str, config, shape: Shape, seed: int = 1) -> dict[str, torch.Tensor]:
  """Inputs and labels with padding on both streams and mentions of 0 to `mention` tokens."""
  rng = np.random.default_rng(seed)
  b, w, e, m = shape.batch, shape.words, shape.entities, shape.mention
  if name == "LukeForMultipleChoice":
    b *= 3
  lengths = rng.integers(w // 2, w + 1, b)
  lengths[0] = w
  mask = np.arange(w) < lengths[:, None]
  inputs = {
    "input_ids": np.where(mask, rng.integers(3, config.vocab_size, (b, w)), 1),
    "attention_mask": mask.astype(int),
  }
  if e:
    counts = rng.integers(2, e + 1, b)
    counts[0] = e
    entity_mask = np.arange(e) < counts[:, None]
    positions = rng.integers(0, w // 2, (b, e, m))
    sizes = rng.integers(0, m + 1, (b, e, 1)) * entity_mask[..., None]
    inputs["entity_ids"] = np.where(
      entity_mask, rng.integers(1, config.entity_vocab_size, (b, e)), 0
    )
    inputs["entity_attention_mask"] = entity_mask.astype(int)
    inputs["entity_position_ids"] = np.where(np.arange(m) < sizes, positions, -1)
  inputs |= make_labels(name, config, inputs, rng)
  if name == "LukeForMultipleChoice":
    inputs = {
      k: v if k == "labels" else v.reshape(b // 3, 3, *v.shape[1:]) for k, v in inputs.items()
    }
  return {k: torch.tensor(v) for k, v in inputs.items()}


def make_labels(name: str, config, inputs: dict, rng: np.random.Generator) -> dict:
  """What the class's loss wants, some of it ignored."""
  b, w = inputs["input_ids"].shape
  classes = config.num_labels
  labels = {
    "LukeModel": {},
    "LukeForEntityClassification": {"labels": rng.integers(0, 2, (b, classes))},
    "LukeForEntityPairClassification": {"labels": rng.integers(0, classes, b)},
    "PairWithBias": {"labels": rng.integers(0, classes, b)},
    "LukeForQuestionAnswering": {
      "start_positions": rng.integers(0, w + 3, b),
      "end_positions": rng.integers(0, w + 3, b),
    },
    "LukeForSequenceClassification": {"labels": rng.integers(0, classes, b)},
    "LukeForTokenClassification": {"labels": masked(rng, (b, w), classes)},
    "LukeForMultipleChoice": {"labels": rng.integers(0, 3, b // 3)},
  }
  if name in labels:
    return labels[name]
  if "entity_ids" not in inputs:
    return {"labels": masked(rng, (b, w), config.vocab_size)}
  e = inputs["entity_ids"].shape[1]
  if name == "LukeForEntitySpanClassification":
    return {
      "entity_start_positions": rng.integers(0, w, (b, e)),
      "entity_end_positions": rng.integers(0, w, (b, e)),
      "labels": masked(rng, (b, e), classes),
    }
  if name == "Cloze":
    return {"labels": masked(rng, (b, e - 1), 2)}
  both = {
    "labels": masked(rng, (b, w), config.vocab_size),
    "entity_labels": masked(rng, (b, e), config.entity_vocab_size),
  }
  if name == "PageEntity":
    both["page_entity_embedding"] = rng.normal(size=(b, config.entity_emb_size)).astype("float32")
  return both


def masked(rng: np.random.Generator, shape: tuple, classes: int) -> np.ndarray:
  """Class numbers, about half of them -100."""
  return np.where(rng.random(shape) < 0.5, rng.integers(0, classes, shape), -100)


def probe(outputs) -> torch.Tensor:
  """A loss for the bare model: a fixed weighting of all it returns."""
  parts = [outputs.last_hidden_state, outputs.pooler_output]
  if outputs.entity_last_hidden_state is not None:
    parts.append(outputs.entity_last_hidden_state)
  return sum((p * torch.cos(torch.arange(p.numel()).view(p.shape) * 1.0)).mean() for p in parts)


def run(name: str, model: nn.Module, inputs: dict[str, torch.Tensor]) -> dict[str, np.ndarray]:
  """Outputs, loss and gradients, flat, under output:NAME, loss and grad:NAME."""
  model.zero_grad()
  outputs = model(**inputs, output_hidden_states=True, output_attentions=True)
  loss = probe(outputs) if name == "LukeModel" else outputs["loss"]
  loss.backward()
  record = {"loss": loss.detach().numpy()}
  for key, value in outputs.items():
    if value is None or "loss" in key or (isinstance(value, tuple) and value[0] is None):
      continue
    value = torch.stack(tuple(value)) if isinstance(value, tuple) else value
    record[f"output:{key}"] = value.detach().numpy()
  for key, value in model.named_parameters():
    if value.grad is not None:
      record[f"grad:{key}"] = value.grad.numpy().copy()
  decoder = record.pop("grad:lm_head.decoder.weight", None)
  if decoder is not None:  # transformers 5 has two parameters where there is one table
    record["grad:luke.embeddings.word_embeddings.weight"] += decoder
  return record
