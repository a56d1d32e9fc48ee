"""Relations of two names in English text, from the 2,400 sentences that the repository has.

    luke-jax get english
    luke-jax experiment run experiments/english/relations_demo.py --seeds 1

The experiment of relations_bert.py on a quarter of its sentences, which data/english/sample has,
by the clock: some 75 steps on two cores.
"""

import dataclasses
from pathlib import Path

from luke_jax.training.experiment import Experiment, Run, load_experiment

PAPER = {"table": "English: relations", "method": "MiniLM, by the clock", "split": "test"}
SAMPLE = "data/english/sample/relations"


def config() -> Experiment:
  """The experiment."""
  whole = load_experiment(Path(__file__).with_name("relations_bert.py"))
  task = dataclasses.replace(
    whole.task,
    train=f"{SAMPLE}/train.jsonl",
    dev=f"{SAMPLE}/dev.jsonl",
    test=f"{SAMPLE}/test.jsonl",
  )
  return dataclasses.replace(
    whole,
    task=task,
    # A CPU without bfloat16 of its own takes nearly twice as long with it.
    running=dataclasses.replace(whole.running, dtype="float32"),
    # Two, since each has a program of its own to compile, and there are 75 steps.
    data=dataclasses.replace(whole.data, lengths=2),
    run=Run(epochs=1, minutes=2.5, log_every=5, start=whole.run.start),
  )
