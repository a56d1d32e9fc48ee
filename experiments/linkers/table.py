"""Knowledge whose vectors are the rows of a pretrained LUKE's entity table.

    luke-jax entities describe TABLES --output knowledge --examples 100000
    python experiments/linkers/table.py linking-model knowledge rows
    luke-jax experiment run experiments/linking.py:msnbc …

Names, titles and examples are those of the knowledge; entities that the table lacks have zeros.
Rows stay as they are in training; [MASK], by which names are read, is trained apart from them.
"""

import argparse

import numpy as np

import luke_jax
from luke_jax.files import Path
from luke_jax.tasks.linking.knowledge import MODEL, open_knowledge, write_knowledge


def main() -> None:
  """Writes the knowledge."""
  parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
  parser.add_argument("model", type=Path)
  parser.add_argument("knowledge", type=Path)
  parser.add_argument("output", type=Path)
  options = parser.parse_args()
  model, known = luke_jax.load(options.model), open_knowledge(str(options.knowledge))
  if model.processor is None or not model.backbone.entities:
    parser.error(f"{options.model}: no table of entities; expected a pretrained LUKE")
  ids = model.processor.entity_vocab.ids
  table = np.asarray(model.params["luke"]["entity_embeddings"]["entity"]["embedding"], np.float16)
  chosen = np.array([ids.get(known.about(i).title, -1) for i in range(len(known))])
  rows = np.where((chosen >= 0)[:, None], table[chosen], 0)
  facts = {name: x for name, x in known.facts.items() if name not in (MODEL, "fingerprint")}
  write_knowledge(options.output, known.lines, (rows,), known.meanings, facts)
  for file in options.knowledge.glob("*.jsonl"):
    if not (options.output / file.name).exists():
      (options.output / file.name).write_bytes(file.read_bytes())
  print(f"{(chosen >= 0).sum()} of {len(known)} entities have a row of {rows.shape[1]}")


if __name__ == "__main__":
  main()
