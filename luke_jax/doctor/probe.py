"""Checks to run in a child process, since they may crash or never return.

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
# Modules whose name is not that of their package.
MODULES = {"absl-py": "absl", "orbax-checkpoint": "orbax.checkpoint", "pyyaml": "yaml"}


def packages(names: Sequence[str]) -> dict[str, str]:
  """Returns the import errors of the packages that cannot be imported, by name."""
  faults = {}
  for name in names:
    try:
      importlib.import_module(MODULES.get(name, name.replace("-", "_")))
    except BaseException as fault:
      faults[name] = " ".join(f"{type(fault).__name__}: {fault}".split())[:300]
  return faults


def devices() -> dict[str, Any]:
  """Returns JAX's devices, after a computation on the first one, and the seconds it took."""
  began = time.perf_counter()
  import jax
  import jax.numpy as jnp

  available = jax.devices()
  total = jax.jit(lambda x: (x @ x).sum())(jnp.ones((64, 64)))
  if float(total) != 64**3:
    raise ValueError(f"a product of ones is {float(total)}; expected {64**3}")
  memory = (available[0].memory_stats() or {}).get("bytes_limit")
  kinds = Counter(device.device_kind for device in available)
  return {
    "platform": available[0].platform,
    "kinds": dict(kinds),
    "memory_bytes": memory,
    "seconds": round(time.perf_counter() - began, 2),
  }


def libtpu() -> dict[str, Any]:
  """Checks that libtpu can describe TPUs that are not attached, as compiling for them needs."""
  from luke_jax.plan.chips import devices, parse_topology

  began = time.perf_counter()
  count = len(devices(parse_topology(TOPOLOGY)))
  return {"topology": TOPOLOGY, "devices": count, "seconds": round(time.perf_counter() - began, 2)}


def main(arguments: Sequence[str]) -> None:
  """Prints the result of one check as JSON, or {"fault": ...} if it raises."""
  check, *names = arguments
  try:
    result: Any = (
      packages(names) if check == "packages" else {"devices": devices, "libtpu": libtpu}[check]()
    )
  except BaseException as fault:
    message = (str(fault).strip() or type(fault).__name__).splitlines()[0]
    result = {"fault": message[:300]}
  # On a line of its own, since backends print messages before and after it.
  print(f"\n{json.dumps(result)}", flush=True)


if __name__ == "__main__":
  main(sys.argv[1:])
