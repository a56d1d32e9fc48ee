"""Makes tests/goldens/training/*.npz: 20 steps of PyTorch's optimizers on a tiny random LUKE.

    pip install -e '.[parity]' && PYTHONPATH=tests python tests/goldens/make_training.py

Each file holds the model's config and the settings of training (JSON), every parameter before and
after, the batches, and the loss of every step.
"""

import json
from pathlib import Path

import numpy as np
import torch
import transformers
from parity_models import Shape, make_inputs, make_model, tiny_config

FOLDER = Path(__file__).parent / "training"
STEPS = 20
BIAS_FREE = {"beta1": 0.9, "beta2": 0.999, "bias_correction": False, "weight_decay": 0.01}
WORD_SIDE = ("luke/embeddings/", "luke/encoder/", "luke/pooler/", "masked_words/")
CASES = {
  "pretraining": {
    "optimizer": {"learning_rate": 5e-4, "frozen": ("luke/pooler/",), **BIAS_FREE},
    "schedule": {"warmup_steps": 5, "decay": "linear"},
    "accumulation": 1,
  },
  "fine-tuning": {
    "optimizer": {
      "learning_rate": 5e-4,
      "beta1": 0.9,
      "beta2": 0.98,
      "bias_correction": True,
      "weight_decay": 0.1,
      "max_gradient_norm": 1.0,
      "frozen": ("luke/pooler/",),
    },
    "schedule": {"warmup_ratio": 0.2, "decay": "constant"},
    "accumulation": 1,
  },
  "entities-only": {
    "optimizer": {"learning_rate": 5e-4, "frozen": WORD_SIDE, **BIAS_FREE},
    "schedule": {"warmup_steps": 5, "decay": "linear"},
    "accumulation": 2,
  },
}
# What the reference trains when it trains the entity side alone.
ENTITY_SIDE = ("luke.entity_embeddings.", "entity_predictions.")


class UncorrectedAdamW(torch.optim.Optimizer):
  """AdamW of the transformers of the paper's time, with correct_bias=False."""

  def __init__(self, groups, **settings):
    super().__init__(groups, settings)

  @torch.no_grad()
  def step(self):
    for group in self.param_groups:
      rate, (beta1, beta2) = group["lr"], group["betas"]
      for x in group["params"]:
        state = self.state[x]
        first = state.get("first", torch.zeros_like(x))
        second = state.get("second", torch.zeros_like(x))
        state["first"] = first = beta1 * first + (1 - beta1) * x.grad
        state["second"] = second = beta2 * second + (1 - beta2) * x.grad**2
        x.sub_(rate * first / (second.sqrt() + group["eps"]))
        x.sub_(rate * group["weight_decay"] * x)


def tied_model(seed: int) -> torch.nn.Module:
  """A LukeForMaskedLM whose decoders are the tables, in every version of transformers."""
  model = make_model("LukeForMaskedLM", tiny_config(), seed)
  model.lm_head.decoder.weight = model.luke.embeddings.word_embeddings.weight
  model.lm_head.decoder.bias = model.lm_head.bias
  model.entity_predictions.decoder.weight = model.luke.entity_embeddings.entity_embeddings.weight
  return model


def make_optimizer(named: dict[str, torch.nn.Parameter], settings: dict):
  """The reference's optimizer over the parameters, some without decay by their names."""
  groups: dict[float, list] = {0.0: [], settings["weight_decay"]: []}
  for name, x in named.items():
    free = any(part in name for part in ("bias", "LayerNorm.weight"))
    groups[0.0 if free else settings["weight_decay"]].append(x)
  kind = torch.optim.AdamW if settings["bias_correction"] else UncorrectedAdamW
  return kind(
    [{"params": xs, "weight_decay": decay} for decay, xs in groups.items()],
    lr=settings["learning_rate"],
    betas=(settings["beta1"], settings["beta2"]),
    eps=1e-6,
  )


def make_schedule(optimizer, settings: dict):
  """A LambdaLR."""
  warmup = settings.get("warmup_steps")
  if warmup is None:
    warmup = int(settings["warmup_ratio"] * STEPS)
  if settings["decay"] == "constant":
    return transformers.get_constant_schedule_with_warmup(optimizer, warmup)
  return transformers.get_linear_schedule_with_warmup(optimizer, warmup, STEPS)


def make_batches(accumulation: int, seed: int) -> dict[str, np.ndarray]:
  """Inputs and labels (steps, micro-batches, ...), fresh in every step."""
  each = [
    make_inputs("LukeForMaskedLM", tiny_config(), Shape(), seed=1000 * seed + i)
    for i in range(STEPS * accumulation)
  ]
  stacked = {name: np.stack([batch[name].numpy() for batch in each]) for name in each[0]}
  return {
    name: x.reshape(STEPS, accumulation, *x.shape[1:]).astype(np.int16)
    for name, x in stacked.items()
  }


def train(model, case: dict, batches: dict[str, np.ndarray]) -> tuple[list[float], list[float]]:
  """Trains the model in place; the loss of every step and the norm of its gradient."""
  settings, accumulation = case["optimizer"], case["accumulation"]
  only = ENTITY_SIDE if "luke/encoder/" in settings["frozen"] else ("",)
  trained = {
    name: x
    for name, x in model.named_parameters()
    if name.startswith(only) and "pooler" not in name
  }
  optimizer = make_optimizer(trained, settings)
  schedule = make_schedule(optimizer, case["schedule"])
  losses, norms = [], []
  for step in range(STEPS):
    loss = 0.0
    for i in range(accumulation):
      inputs = {name: torch.tensor(x[step, i].astype(np.int64)) for name, x in batches.items()}
      part = model(**inputs).loss / accumulation
      part.backward()
      loss += part.item()
    limit = settings.get("max_gradient_norm", float("inf"))
    norms.append(torch.nn.utils.clip_grad_norm_(trained.values(), limit).item())
    optimizer.step()
    schedule.step()
    model.zero_grad()
    losses.append(loss)
  return losses, norms


def make_record(name: str, seed: int = 0) -> dict[str, np.ndarray]:
  """What the file of a case holds."""
  case = CASES[name]
  model = tied_model(seed)
  fields = model.config.to_dict() | {"architectures": ["LukeForMaskedLM"]}
  record = {"config": json.dumps(fields), "case": json.dumps(case | {"steps": STEPS})}
  record |= {f"before:{key}": x.detach().numpy().copy() for key, x in model.named_parameters()}
  batches = make_batches(case["accumulation"], seed + 1)
  record |= {f"batch:{key}": x for key, x in batches.items()}
  losses, norms = train(model, case, batches)
  record |= {f"after:{key}": x.detach().numpy().copy() for key, x in model.named_parameters()}
  return record | {"losses": np.array(losses), "gradient_norms": np.array(norms)}


def main() -> None:
  """Writes every case."""
  FOLDER.mkdir(exist_ok=True)
  for name in CASES:
    record = make_record(name)
    np.savez_compressed(FOLDER / f"{name}.npz", **record)
    print(name, record["losses"].round(2), record["gradient_norms"].round(2))


if __name__ == "__main__":
  main()
