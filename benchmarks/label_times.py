"""Times names with 20 and with 1,000 labels, which were asked for before.

python -m benchmarks.label_times
"""

import re
import statistics
import time

from luke_jax import load
from luke_jax.convert.published import ENGLISH

TEXT = (
  "Ana Sousa of the Labour Party sailed the Arkessa to Porto in France , where Bo Ferrier won the"
  " Booker Prize in 2018 ."
)
FEW, MANY, TIMES, ROUNDS = 20, 1000, 100, 5


def main() -> None:
  """Prints the medians of rounds that take turns, and the median of their quotients."""
  model = load("english/labels")
  words = (ENGLISH.directory / "vocab.txt").read_text(encoding="utf-8").split()
  labels = [word for word in words if re.fullmatch("[a-z]{4,}", word)][:MANY]
  for count in (FEW, MANY):
    model.predict(TEXT, labels=labels[:count])
  quotients = []
  for _ in range(ROUNDS):
    few, many = (_milliseconds(model, labels[:count]) for count in (FEW, MANY))
    quotients.append(many / few)
    print(f"{FEW} labels {few:.1f} ms, {MANY:,} labels {many:.1f} ms")
  print(f"{statistics.median(quotients):.2f} times as long")


def _milliseconds(model, labels: list[str]) -> float:
  times = []
  for _ in range(TIMES):
    begun = time.perf_counter()
    model.predict(TEXT, labels=labels)
    times.append(time.perf_counter() - begun)
  return 1000 * statistics.median(times)


if __name__ == "__main__":
  main()
