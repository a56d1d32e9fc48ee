"""Writes labels.json: what scikit-learn, scipy and pytorch-crf say of random cases.

In an environment with torch, pytorch-crf 0.7.2, scikit-learn and scipy:

    PYTHONPATH=tests python tests/goldens/make_labels.py
"""

import json
from pathlib import Path

import numpy as np
import torch
from random_chains import random_chain
from scipy import stats
from sklearn import metrics
from torchcrf import CRF

CASES = 1000


def chain_case(seed):
  emissions, lengths, labels, transitions, starts, ends = random_chain(seed)
  crf = CRF(emissions.shape[-1], batch_first=True)
  mask = torch.arange(emissions.shape[1])[None] < torch.tensor(lengths)[:, None]
  with torch.no_grad():
    crf.transitions.copy_(torch.tensor(transitions))
    crf.start_transitions.copy_(torch.tensor(starts))
    crf.end_transitions.copy_(torch.tensor(ends))
    scores = torch.tensor(emissions)
    losses = -crf(scores, torch.tensor(labels), mask, reduction="none")
    paths = crf.decode(scores, mask)
  return [[round(x, 5) for x in losses.tolist()], ["".join(map(str, path)) for path in paths]]


def label_case(seed):
  rng = np.random.default_rng(seed)
  gold, predicted = rng.integers(0, 4, 30), rng.integers(0, 4, 30)
  predicted = np.where(rng.random(30) < 0.5, gold, predicted)
  two = gold > 1, predicted > 1
  sets = rng.random((2, 12, 4)) < 0.4
  numbers = rng.normal(size=30).round(1), rng.normal(size=30).round(1)
  return {
    "seed": seed,
    "accuracy": metrics.accuracy_score(gold, predicted),
    "macro_f1": metrics.f1_score(gold, predicted, average="macro"),
    "micro_f1": metrics.f1_score(gold, predicted, average="micro"),
    "matthews": metrics.matthews_corrcoef(gold, predicted),
    "rmse": metrics.root_mean_squared_error(gold, predicted),
    "binary_f1": metrics.f1_score(*two),
    "binary_matthews": metrics.matthews_corrcoef(*two),
    "sets_micro_f1": metrics.f1_score(*sets, average="micro"),
    "sets_macro_f1": metrics.f1_score(*sets, average="macro", zero_division=0),
    "sets_accuracy": metrics.accuracy_score(*sets),
    "pearson": stats.pearsonr(*numbers).statistic,
    "spearman": stats.spearmanr(*numbers).statistic,
  }


if __name__ == "__main__":
  found = {"chains": [chain_case(seed) for seed in range(CASES)]}
  found["measures"] = [label_case(seed) for seed in range(20)]
  text = json.dumps(found, default=float, separators=(",", ":"))
  Path(__file__).with_name("labels.json").write_text(text + "\n", encoding="utf-8")
