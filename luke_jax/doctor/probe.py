"""What has to be tried in a process of its own, for it may fail hard or never end.

`python -m luke_jax.doctor.probe packages NAME...`, `... devices` and `... libtpu` print JSON.
"""

import importlib
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

TOPOLOGY = "v5e:2x2"
# Where a package's module has another name.
MODULES = {"absl-py": "absl", "orbax-checkpoint": "orbax.checkpoint"}


def packages(names: Sequence[str]) -> dict[str, str]:
  """Why packages cannot be imported, by name: those that can are left out."""
  faults = {}
  for name in names:
    try:
      importlib.import_module(MODULES.get(name, name.replace("-", "_")))
    except BaseException as fault:
      faults[name] = " ".join(f"{type(fault).__name__}: {fault}".split())[:300]
  return faults


def devices() -> dict[str, Any]:
  """What JAX sees, after it has computed something there, and in how many seconds."""
  began = time.perf_counter()
  import jax
  import jax.numpy as jnp

  found = jax.devices()
  first = jax.jit(lambda x: (x @ x).sum())(jnp.ones((64, 64)))
  if float(first) != 64**3:
    raise ValueError(f"a product of ones is {float(first)}; expected {64**3}")
  memory = (found[0].memory_stats() or {}).get("bytes_limit")
  kinds = Counter(device.device_kind for device in found)
  return {
    "platform": found[0].platform,
    "kinds": dict(kinds),
    "memory_bytes": memory,
    "seconds": round(time.perf_counter() - began, 2),
  }


def libtpu() -> dict[str, Any]:
  """Whether libtpu describes a slice that is not there, as compiling for one needs."""
  from luke_jax.plan.chips import devices, parse_topology

  began = time.perf_counter()
  number = len(devices(parse_topology(TOPOLOGY)))
  return {
    "topology": TOPOLOGY,
    "devices": number,
    "seconds": round(time.perf_counter() - began, 2),
  }


def main(arguments: Sequence[str]) -> None:
  """Prints what was asked for, or why there is none."""
  what, *names = arguments
  try:
    answer: Any = (
      packages(names) if what == "packages" else {"devices": devices, "libtpu": libtpu}[what]()
    )
  except BaseException as fault:
    said = (str(fault).strip() or type(fault).__name__).splitlines()[0]
    answer = {"fault": said[:300]}
  # Backends print what they like, before and after.
  print(f"\n{json.dumps(answer)}", flush=True)


if __name__ == "__main__":
  main(sys.argv[1:])
