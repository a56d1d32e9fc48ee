"""Makes tests/goldens/activations.npz: transformers' activations and their slopes.

pip install -e '.[parity]' && python tests/goldens/make_activations.py
"""

from pathlib import Path

import numpy as np
import torch
from transformers.activations import ACT2FN

OWN_PARAMETERS = ("prelu", "xielu")


def main() -> None:
  """Writes the values and slopes of every activation without parameters of its own."""
  points = np.concatenate([np.linspace(-12, 12, 97), [-50, 0.3, 3.01, 50]]).astype(np.float32)
  record = {"points": points}
  for name in sorted(set(ACT2FN) - set(OWN_PARAMETERS)):
    x = torch.tensor(points, requires_grad=True)
    y = ACT2FN[name](x)
    y.sum().backward()
    record |= {f"{name}:value": y.detach().numpy(), f"{name}:slope": x.grad.numpy()}
  np.savez_compressed(Path(__file__).parent / "activations.npz", **record)


if __name__ == "__main__":
  main()
