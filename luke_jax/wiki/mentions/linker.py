"""Links of texts to entities of a knowledge graph, by the links of a wiki."""

from collections.abc import Mapping

from luke_jax.files import Path, read_json
from luke_jax.text.alignment import AlignedEntity
from luke_jax.wiki.mentions.annotate import LINKED_OFTEN, annotate
from luke_jax.wiki.mentions.table import Mentions
from luke_jax.wiki.read.wikidata import read_names
from luke_jax.wiki.stages.stage import MANIFEST


class MentionLinker:
  """Finds the names of a wiki's pages in a text; each means the page that it links to most."""

  def __init__(
    self,
    mentions: Mentions,
    entities: Mapping[str, str],
    *,
    min_link_probability: float = LINKED_OFTEN,
  ):
    """Links to `entities`, names in the graph by the title of their page."""
    self.mentions, self.entities = mentions, entities
    self.min_link_probability = min_link_probability

  @classmethod
  def of(cls, build: str | Path, titles: str | Path) -> "MentionLinker":
    """Reads the mentions of a build, and a file of titles with their Qids or Wikidata's dump."""
    build, titles = Path(build), Path(titles)
    mentions = Mentions(build)
    site = read_json(build / "pages" / MANIFEST)["made_of"]["site"]["database"]
    return cls(mentions, dict(read_names(titles, site)))

  def __call__(self, text: str) -> list[AlignedEntity]:
    """Returns the links of a text; a score is the share of the name's uses that lead there."""
    names = annotate(text, self.mentions, min_link_probability=self.min_link_probability)
    return [
      AlignedEntity(
        self.entities[best.title], name.start, name.end, name.link_probability * best.prior
      )
      for name, best in ((name, name.candidates[0]) for name in names)
      if best.title in self.entities
    ]
