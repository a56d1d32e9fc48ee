"""Runs a benchmark: `python -m benchmarks NAME`."""

import importlib
import signal
import sys
from collections.abc import Sequence

from luke_jax.cli import HELP, ended
from luke_jax.cli.arguments import bound
from luke_jax.cli.process import HANDLED, ask_for_huge_pages, keep_programs, leave_out_tpus
from luke_jax.errors import InputError

OF_DATA = {
  "corpus": "Times names in a corpus beside transformers and spaCy, in turn.",
  "pipeline": "Times the making of pretraining batches.",
  "text": "Times texts to inputs against transformers' tokenizer.",
  "wiki": "Times all stages from a dump to training records.",
}
OF_PLANS = {
  "cycles": "Counts the cycles of a training step on TPUs that are not there.",
  "plans": "Prints the table of plans in docs/plan.md.",
}
OF_MODELS = {
  "encoder": "Times the encoder against transformers, side by side.",
  "engine": "Times what a training run spends between its steps.",
  "facts_torch": "Trains an ATLOP in PyTorch on the documents of facts, and scores it.",
  "gliner_torch": "Times GLiNER's models beside the package gliner, in turn.",
  "graph": "Times the training of TransE beside PyKEEN, in turn.",
  "ner": "Times named entities against the usual transformers loop.",
  "step": "Times an experiment's training step, without the loop around it.",
  "tener": "Times a TENER beside the same network in PyTorch.",
  "train": "Times steps of fine-tuning beside PyTorch with transformers and peft.",
}
OF_SIZES = {"growth": "Draws how cost grows with words, entities, labels and texts."}
OF_COMMITS = {
  "record": "Measures a commit by a few figures, and says what moved since the last.",
  "curves": "Draws these figures over the commits.",
}
BENCHMARKS = OF_MODELS | OF_DATA | OF_PLANS | OF_SIZES | OF_COMMITS


def main(arguments: Sequence[str]) -> int:
  """Runs a benchmark and returns the exit status."""
  return ended(lambda: _run(*arguments))


def _run(name: str = "--help", *arguments: str) -> int | None:
  if name in HELP:
    listed = (f"  {x:12}  {line}" for x, line in BENCHMARKS.items())
    print("\n".join(["usage: python -m benchmarks NAME ...\n", *listed]))
    return 0
  if name not in BENCHMARKS:
    raise InputError(f"{name}: no such benchmark; expected one of {', '.join(BENCHMARKS)}")
  run = importlib.import_module(f"benchmarks.{name}").main
  return bound(run, f"python -m benchmarks {name}", arguments)()


if __name__ == "__main__":
  keep_programs()
  leave_out_tpus()
  if sys.argv[1:2] and sys.argv[1] in OF_MODELS:
    ask_for_huge_pages()
  signal.pthread_sigmask(signal.SIG_UNBLOCK, HANDLED)
  sys.exit(main(sys.argv[1:]))
