"""The entities as a Wikidata JSON dump: an array with one item a line."""

import bz2
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .world import Entity, World

COUNTRY, INSTANCE = "P17", "P31"


def write_wikidata(path: Path, world: World) -> None:
  """Writes the dump of all entities that have a page, and of the types they are instances of."""
  lines = (json.dumps(item, ensure_ascii=True, separators=(",", ":")) for item in items(world))
  path.write_bytes(bz2.compress(("[\n" + ",\n".join(lines) + "\n]\n").encode()))


def items(world: World) -> Iterator[dict[str, Any]]:
  """The items: types first, which have no page anywhere, then the entities, and one property."""
  types = list(dict.fromkeys(entity.type for entity in world.pages))
  classes = {type: f"Q{100 + number}" for number, type in enumerate(types)}
  for type, id in classes.items():
    yield _item(id, {"en": type})
  for entity in world.pages:
    yield _entity(world, entity, classes[entity.type])
  yield {
    "type": "property",
    "datatype": "wikibase-item",
    "id": INSTANCE,
    "labels": {"en": {"language": "en", "value": "instance of"}},
    "claims": {},
  }


def _entity(world: World, entity: Entity, type: str) -> dict[str, Any]:
  names = {"en": entity.name, "de": entity.german, "ja": entity.japanese}
  labels = {language: name for language, name in names.items() if name}
  sites = {"samplewiki": entity.title, "sampledewiki": entity.german}
  sites["samplejawiki"] = entity.japanese
  if entity.number % 5 == 0:
    sites["commonswiki"] = f"Category:{entity.title}"
    sites["samplewikiquote"] = entity.title
  claims = {INSTANCE: [type]}
  country = world.object_of(entity.title, "in_country")
  if country:
    claims[COUNTRY] = [country.item]
  aliases = [{"language": "en", "value": alias} for alias in entity.redirects]
  return _item(entity.item, labels) | {
    "aliases": {"en": aliases},
    "claims": {name: [_claim(name, value) for value in values] for name, values in claims.items()},
    "sitelinks": {
      site: {"site": site, "title": title, "badges": []} for site, title in sites.items() if title
    },
  }


def _item(id: str, labels: dict[str, str]) -> dict[str, Any]:
  return {
    "type": "item",
    "id": id,
    "labels": {code: {"language": code, "value": name} for code, name in labels.items()},
    "descriptions": {},
    "aliases": {},
    "claims": {},
    "sitelinks": {},
    "lastrevid": 1000 + int(id[1:]),
  }


def _claim(property: str, item: str) -> dict[str, Any]:
  value = {"entity-type": "item", "numeric-id": int(item[1:]), "id": item}
  return {
    "mainsnak": {
      "snaktype": "value",
      "property": property,
      "datavalue": {"value": value, "type": "wikibase-entityid"},
      "datatype": "wikibase-item",
    },
    "type": "statement",
    "rank": "normal",
  }
