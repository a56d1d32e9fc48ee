"""Makes `english/linking`: python -m data.linking.boxed ADAPTER TARGET.

The adapter is that of a training of linking, whose knowledge stays behind.
"""

import dataclasses
import sys
from pathlib import Path

import luke_jax
from data import box
from luke_jax.inference.settings import KEY

LICENCE = "pages of the English Wikipedia, CC BY-SA"
THRESHOLD = 0.7  # from which four of five are right among names with several entries of WordNet


def main(adapter: str, target: Path) -> None:
  """Writes the adapter and its card."""
  model = luke_jax.load(adapter)
  ours = dict(model.rest[KEY])
  kept = {name: x for name, x in ours["settings"].items() if name != "knowledge"}
  ours["settings"] = {**kept, "threshold": THRESHOLD}
  model = dataclasses.replace(model, rest={**model.rest, KEY: ours})
  record = {**ours["run"]}
  record["settings"] = {x: y for x, y in record["settings"].items() if x != "task.knowledge"}
  box.write(model, record, LICENCE, target)


if __name__ == "__main__":
  if len(sys.argv) != 3:
    sys.exit((__doc__ or "").partition("\n")[0])
  main(sys.argv[1], Path(sys.argv[2]))
