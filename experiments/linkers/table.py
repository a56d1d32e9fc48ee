"""Knowledge whose vectors are the rows of a pretrained LUKE's entity table.

    python experiments/linkers/table.py luke-base rows
    luke-jax experiment run experiments/linking/aida.py --set task.knowledge=rows …

Rows stay as they are in training; [MASK], by which names are read, is trained apart from them.
Entities have titles alone as names, so that texts have to give the candidates of theirs.
"""

import argparse

import numpy as np

import luke_jax
from luke_jax.files import Path
from luke_jax.tasks.linking.knowledge import About, lines_of, write_knowledge
from luke_jax.tasks.linking.names import Meanings
from luke_jax.text.entity_vocab import SPECIAL_ENTITIES


def main() -> None:
  """Writes the knowledge."""
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("model", type=Path)
  parser.add_argument("output", type=Path)
  options = parser.parse_args()
  model = luke_jax.load(options.model)
  if model.processor is None or not model.backbone.entities:
    parser.error(f"{options.model}: no table of entities; expected a pretrained LUKE")
  vocab = model.processor.entity_vocab
  chosen = {id: title for title, id in vocab.ids.items() if title not in SPECIAL_ENTITIES.ids}
  rows = np.asarray(model.params["luke"]["entity_embeddings"]["entity"]["embedding"], np.float32)
  rows = rows[list(chosen)]
  rows /= np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-9)
  lines = lines_of(About(title) for title in chosen.values())
  meanings = Meanings.of({title: {id: 1.0} for id, title in enumerate(chosen.values())})
  write_knowledge(options.output, lines, (rows,), meanings, {"tables": options.model.name})
  print(f"{len(lines)} entities, rows of {rows.shape[1]}")


if __name__ == "__main__":
  main()
