"""Benchmark of an ATLOP in PyTorch on the documents of facts, scored as the task `facts` is."""

import json
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from benchmarks.timing import imported
from data.redocred.score import counted, f1_of_new, stated
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.formats.files import Faults
from luke_jax.runs.models import model_directory
from luke_jax.tasks.facts.files import FactsExample, read
from luke_jax.tasks.facts.score import evaluate
from luke_jax.tasks.predictions import Fact, Mention

if TYPE_CHECKING:
  from benchmarks.torch_atlop import Atlop, Document

DEV, TEST = "dev.jsonl", "test.jsonl"
LEAST, SURE = 0.02, 0.5  # score of the facts that figures are made of, and of those that are given
SHOWN = ("f1", "f1_inside", "f1_across", "precision", "recall", "precision_at_30")


def predicted(
  model: "Atlop",
  examples: Sequence[FactsExample],
  documents: Sequence["Document"],
  labels: Sequence[str],
) -> list[list[Fact]]:
  """Returns the facts of texts, the surest first."""
  import torch

  model.eval()
  found = []
  for example, one in zip(examples, documents, strict=True):
    with torch.no_grad():
      scores = model([one])[0].sigmoid()
    scores.diagonal().zero_()
    places = (scores >= LEAST).nonzero().tolist()
    mentions = [Mention("", *x.mentions[0]) for x in example.names]
    scored = ((*place, scores[tuple(place)].item()) for place in places)
    facts = [Fact(mentions[h], mentions[t], labels[c], x, (h, t)) for h, t, c, x in scored]
    found.append(sorted(facts, key=lambda x: -x.score))
  return found


def figures(examples: Sequence[FactsExample], facts: Sequence[Sequence[Fact]]) -> dict[str, float]:
  """Returns the scores that are shown."""
  scores = evaluate(examples, facts, SURE).scores
  return {x: round(scores[x], 4) for x in SHOWN}


def main(
  *,
  folder: Path = Path("datasets/redocred"),
  model: str = "english",
  train: str = "train.jsonl",
  rate: float = 3e-4,
  head_rate: float = 1e-3,
  epochs: int = 30,
  batch: int = 4,
  adapter: int = 0,
  seed: int = 0,
  every: int = 5,
  dtype: Literal["float32", "bfloat16"] = "bfloat16",
) -> None:
  """Trains an ATLOP in PyTorch on the documents of data/redocred, and scores it on those of test.

  The epoch that is best on dev is scored. Needs the extra `parity`.

      python -m benchmarks facts_torch --epochs 5 --seed 1

  Args:
    folder: Folder with train.jsonl, dev.jsonl and test.jsonl.
    model: A BERT, by its name or folder.
    train: File of the folder to train on.
    rate: Highest learning rate of the encoder.
    head_rate: Highest learning rate of what is new.
    epochs: Times that the documents are read.
    batch: Documents of a step.
    adapter: Rank of adapters that train in place of the encoder; 0 trains all of it.
    seed: Seed of all that is drawn.
    every: Epochs between two scores of dev.
    dtype: Type of products.
  """
  torch, transformers = imported("torch", "transformers")
  if min(epochs, batch, every) < 1:
    raise InputError("epochs, batch, every: expected 1 or more of each")
  from benchmarks import torch_atlop

  transformers.logging.set_verbosity_error()  # the pooler is left out
  torch.manual_seed(seed)
  place = str(model_directory(Path(model)))
  tokenizer = transformers.AutoTokenizer.from_pretrained(place)
  encoder = transformers.AutoModel.from_pretrained(
    place, add_pooling_layer=False, attention_probs_dropout_prob=0.0
  )
  of_file = {x: read(folder / x, Faults()) for x in (train, DEV, TEST)}
  labels = sorted({x.label for y in of_file[train] for x in y.facts or ()})
  of_file[train] = [x for x in of_file[train] if len(x.names) > 1]
  made = {x: [torch_atlop.document(y, tokenizer, labels) for y in of] for x, of in of_file.items()}
  if adapter:
    torch_atlop.add_adapters(encoder, adapter)
  atlop = torch_atlop.Atlop(encoder, len(labels), dtype == "bfloat16")
  settings = torch_atlop.Settings(rate, head_rate, epochs, batch, seed, every)

  def answers(name: str) -> list[list[Fact]]:
    return predicted(atlop, of_file[name], made[name], labels)

  def of_dev() -> float:
    return figures(of_file[DEV], answers(DEV))["f1"]

  torch_atlop.train(atlop, made[train], settings, of_dev)
  for name in (DEV, TEST):
    start = time.process_time()
    facts, examples = answers(name), of_file[name]
    each = (time.process_time() - start) / len(facts)
    answered = [counted(x, y) for x, y in zip(examples, facts, strict=True)]
    line = {"file": name, **figures(examples, facts)}
    if name == TEST:  # those of dev are among the stated
      line["f1_ign"] = f1_of_new(examples, answered, stated(folder), SURE)
    print(json.dumps(line | {"processor_seconds_a_text": round(each, 3)}), flush=True)
