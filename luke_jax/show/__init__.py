"""Pictures of texts, predictions, attention and training runs, for notebooks and as pages.

luke_jax.show.entities(text, model.predict(text)).save("entities.html")
"""

from luke_jax.show.arcs import relations
from luke_jax.show.heat_maps import attention
from luke_jax.show.lines import curves
from luke_jax.show.neighbours import linked, nearest
from luke_jax.show.picture import Picture, Section, code, report, table
from luke_jax.show.predictions import answers, entities, labels
from luke_jax.show.readings import readings

__all__ = ["Picture", "Section", "answers", "attention", "code", "curves", "entities", "labels"]
__all__ += ["linked", "nearest", "readings", "relations", "report", "table"]


def __dir__() -> list[str]:
  """Lists what people use, for tab completion."""
  return list(__all__)
