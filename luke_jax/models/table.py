"""Table of the places of this package's systems. One is imported when something asks for it."""

import importlib
import importlib.metadata
from collections.abc import Iterator, Mapping
from typing import Any

from luke_jax.errors import InputError
from luke_jax.models.system import System

PLACES = {  # model_type of config.json -> module and class
  "luke": "luke:LukeConfig",
  "luke-bert": "luke:LukeConfig",
  "luke-independent": "luke:LukeConfig",
  "bert": "bert:BertConfig",
  "roberta": "bert:RobertaConfig",
  "data2vec-text": "bert:RobertaConfig",
  "xlm-roberta": "bert:XlmRobertaConfig",
  "camembert": "bert:CamembertConfig",
  "distilbert": "distilbert:DistilBertConfig",
  "electra": "electra:ElectraConfig",
  "deberta-v2": "deberta:DebertaConfig",
  "deberta": "deberta:DebertaConfig",  # v1, which it refuses
  "albert": "albert:AlbertConfig",
  "mpnet": "mpnet:MpnetConfig",
  "ernie_thu": "ernie_thu:ErnieThuConfig",
  "ernie": "ernie_baidu:ErnieBaiduConfig",
  "modernbert": "modernbert:ModernBertConfig",
  "tener": "tener:TenerConfig",
  "gliner_bi_encoder_span": "gliner:GlinerConfig",
  "gliner_bi_encoder_token": "gliner:GlinerConfig",
  "gliner_uni_encoder_span": "gliner:GlinerConfig",
  "gliner_uni_encoder_token": "gliner:GlinerConfig",
}


GROUP = "luke_jax.systems"  # of entry points, by the names of systems and their model types


def installed(group: str, name: str) -> Any:
  """Returns what an installed package has in a group of entry points, by its name, if anything."""
  found = importlib.metadata.entry_points(group=group, name=name)
  return next(iter(found)).load() if found else None


def system_of(model_type: object) -> type[System] | None:
  """Returns the system of a model type of config.json; None if there is none."""
  if not isinstance(model_type, str):
    return None
  return _at(PLACES[model_type]) if model_type in PLACES else installed(GROUP, model_type)


def systems() -> Iterator[type[System]]:
  """Yields all systems, each imported when it is its turn."""
  yield from map(_at, dict.fromkeys(PLACES.values()))


def system_named(name: str) -> type[System]:
  """Returns the system of a name."""
  for system in systems():
    if system.name == name:
      return system
  if own := installed(GROUP, name):
    return own
  names = ", ".join(system.name for system in systems())
  raise InputError(f"system {name!r}: unknown; expected one of {names}")


class _Sizes(Mapping[str, System]):
  """The sizes of all systems that have names, which are looked up folder by folder."""

  def __getitem__(self, name: str) -> System:
    for sizes in self._by_folder():
      if name in sizes:
        return sizes[name]
    raise KeyError(name)

  def __iter__(self) -> Iterator[str]:
    for sizes in self._by_folder():
      yield from sizes

  def __len__(self) -> int:
    return sum(map(len, self._by_folder()))

  def _by_folder(self) -> Iterator[Mapping[str, System]]:
    for folder in dict.fromkeys(place.partition(":")[0] for place in PLACES.values()):
      yield importlib.import_module(f"luke_jax.systems.{folder}").SIZES


SIZES: Mapping[str, System] = _Sizes()


def _at(place: str) -> type[System]:
  folder, _, name = place.partition(":")
  return getattr(importlib.import_module(f"luke_jax.systems.{folder}"), name)
