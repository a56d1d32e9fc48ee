"""Names that differ between languages, from `languages.toml`: of namespaces, templates, wikis."""

import tomllib
from typing import NamedTuple

from luke_jax.files import packaged

# MediaWiki's own names, which every wiki accepts beside its local ones.
CANONICAL_NAMESPACES = {"media": -2, "special": -1, "talk": 1, "user": 2, "user talk": 3}
CANONICAL_NAMESPACES |= {"project": 4, "project talk": 5, "file": 6, "file talk": 7, "image": 6}
CANONICAL_NAMESPACES |= {"image talk": 7, "mediawiki": 8, "mediawiki talk": 9, "template": 10}
CANONICAL_NAMESPACES |= {"template talk": 11, "help": 12, "help talk": 13, "category": 14}
CANONICAL_NAMESPACES |= {"category talk": 15}

# Names that templates have in many languages, because they were taken over from English: those of
# disambiguation pages, those that describe a page in a line, and parts of those of boxes of facts.
DISAMBIGUATION = ("Disambig", "Disambiguation")
DESCRIPTIONS = (
  *("Short description", "Shortdescription", "Short-description", "Short desc", "Shortdesc"),
  "ShortDescription",
)
INFOBOXES = ("Infobox", "Taxobox")


class Language(NamedTuple):
  """Names in one language, besides those in its dumps; upper and lower case are equal."""

  files: tuple[str, ...] = ()
  categories: tuple[str, ...] = ()
  projects: tuple[str, ...] = ()
  disambiguation: tuple[str, ...] = ()
  descriptions: tuple[str, ...] = ()
  infoboxes: tuple[str, ...] = ()


_TABLES = tomllib.loads(packaged("wiki/read/languages.toml"))
LANGUAGES = {
  code: Language(**{kind: tuple(names) for kind, names in of_one.items()})
  for code, of_one in _TABLES["languages"].items()
}
LANGUAGE_PREFIXES = frozenset(_TABLES["wikipedias"].split())
PROJECT_PREFIXES = frozenset(_TABLES["projects"].split())

# Languages whose wikis write one word in several scripts as -{zh-hans:…; zh-hant:…}-.
WITH_VARIANTS = frozenset(
  ("crh", "gan", "iu", "kk", "ku", "sh", "shi", "sr", "tg", "uz", "wuu", "zh", "zh-classical")
)

# Languages whose capital of "i" is "İ".
DOTTED_I = frozenset(("az", "kaa", "tr"))
