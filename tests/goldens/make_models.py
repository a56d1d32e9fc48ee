"""Makes tests/goldens/models/*.npz from tiny random PyTorch models of transformers.

    pip install -e '.[parity]' && PYTHONPATH=tests python tests/goldens/make_models.py

Each file holds a config (JSON), every parameter, the inputs, and what PyTorch made of them:
outputs, the loss and its gradient with respect to every parameter.
"""

import json
from pathlib import Path

import numpy as np
from parity_models import CLASSES, OURS, Shape, make_inputs, make_model, run, tiny_config

FOLDER = Path(__file__).parent / "models"


def cases():
  """Name of the file, class, config fields and batch."""
  for name in (*CLASSES, *OURS):
    for aware in (True, False):
      kind = "aware" if aware else "original"
      labels = {"num_labels": 2} if name == "LukeForQuestionAnswering" else {}
      yield f"{name}-{kind}", name, {"use_entity_aware_attention": aware, **labels}, Shape()
  for name in ("LukeModel", "LukeForMaskedLM"):
    yield f"{name}-words-only", name, {}, Shape(entities=0)
    yield f"{name}-full-width", name, {"entity_emb_size": 16}, Shape()


def main() -> None:
  """Writes every case."""
  FOLDER.mkdir(exist_ok=True)
  for file, name, fields, shape in cases():
    config = tiny_config(**fields)
    model = make_model(name, config)
    inputs = make_inputs(name, config, shape)
    architecture = OURS[name][1] if name in OURS else name
    record = {"config": json.dumps(config.to_dict() | {"architectures": [architecture]})}
    record |= {f"param:{key}": value.detach().numpy() for key, value in model.named_parameters()}
    record |= {f"input:{key}": value.numpy() for key, value in inputs.items()}
    record |= run(name, model, inputs)
    np.savez_compressed(FOLDER / f"{file}.npz", **record)
    print(file, len(record))


if __name__ == "__main__":
  main()
