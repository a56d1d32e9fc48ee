"""Pictures of texts, predictions, attention and training runs, for notebooks and as pages.

luke_jax.show.entities(text, model.predict(text)).save("entities.html")
"""

from luke_jax.show.arcs import relations
from luke_jax.show.heat_maps import attention
from luke_jax.show.labels import labels
from luke_jax.show.lines import curves
from luke_jax.show.linked import linked
from luke_jax.show.neighbours import nearest
from luke_jax.show.pages import Section, report
from luke_jax.show.passages import answers
from luke_jax.show.picture import Picture
from luke_jax.show.readings import readings
from luke_jax.show.spans import entities
from luke_jax.show.tables import code, table

__all__ = [
  "Picture",
  "Section",
  "answers",
  "attention",
  "code",
  "curves",
  "entities",
  "labels",
  "linked",
  "nearest",
  "readings",
  "relations",
  "report",
  "table",
]
