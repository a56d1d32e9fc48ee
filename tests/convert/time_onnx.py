"""Times one text in JAX and in onnxruntime, in turns: `python -m tests.convert.time_onnx served`.

The directory is one that `luke-jax export-program --onnx` wrote. Times are those of the processor,
so that other work on the machine changes little.
"""

import sys
import time

import jax
import numpy as np
import onnxruntime

from luke_jax.cli.export_program import symbolic_inputs
from luke_jax.convert.onnx import FILE, INT8
from luke_jax.convert.programs import _example
from luke_jax.files import Path
from luke_jax.model import load

SIZES = ({"words": 16, "entities": 40}, {"words": 64, "entities": 150})
ROUNDS = 60


def main(directory: Path) -> None:
  model = load(directory)
  options = onnxruntime.SessionOptions()
  options.intra_op_num_threads = 1
  sessions = {
    name: onnxruntime.InferenceSession(str(directory / name), options)
    for name in (FILE, INT8)
    if (directory / name).exists()
  }
  for sizes in SIZES:
    inputs = _example(model, symbolic_inputs(model), {"batch": 1, **sizes})
    runs = {"jax": lambda inputs=inputs: jax.block_until_ready(model(**inputs))}
    for name, session in sessions.items():
      read = {x.name: inputs[x.name] for x in session.get_inputs()}
      runs[name] = lambda session=session, read=read: session.run(None, read)
    seconds = {name: [] for name in runs}
    for number in range(ROUNDS + 1):
      for name, run in runs.items():
        start = time.process_time()
        run()
        if number:  # the first one compiles
          seconds[name].append(time.process_time() - start)
    for name, times in seconds.items():
      milliseconds = 1e3 * np.asarray(times)
      print(f"{sizes}: {name} {milliseconds.min():.2f} ms, median {np.median(milliseconds):.2f}")


if __name__ == "__main__":
  main(Path(sys.argv[1]))
