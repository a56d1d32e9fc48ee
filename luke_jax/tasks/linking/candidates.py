"""The entities that names may mean, short ones as longer names tell: Clark beside Wesley Clark."""

import dataclasses
import itertools
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from luke_jax.files import Path
from luke_jax.heads.linking import PRIORS, UNLIKELY, VECTORS
from luke_jax.models.system import Backbone
from luke_jax.pipeline.reads import Reads
from luke_jax.tasks.calibration import ENOUGH_ANSWERS, Answered, fitted
from luke_jax.tasks.contract import ExtraInputs
from luke_jax.tasks.linking import knowledge
from luke_jax.tasks.linking.files import LinkedMention, LinkingExample
from luke_jax.tasks.linking.knowledge import Candidates, Knowledge, open_knowledge
from luke_jax.tasks.linking.names import NONE
from luke_jax.text.rows import Room
from luke_jax.text.tokenizer import Bounds
from luke_jax.wiki.stages.tokens import TOKEN

if TYPE_CHECKING:
  from luke_jax.tasks.contract import ReadExamples
  from luke_jax.tasks.linking.task import EntityLinking


IDS = "candidate_ids"  # of a row's `extra`
LONGEST = 200  # characters of a name that is compared with others
OF_LONGER = 0.9  # part of a short name's prior that goes to what longer names may mean


@dataclasses.dataclass(frozen=True)
class CandidateVectors(ExtraInputs):
  """Vectors of the entities that the names of a row may mean, and how often they mean them."""

  folder: str
  names: int  # E
  candidates: int  # C

  def reads(self) -> Reads:
    """Returns the files of the knowledge."""
    folder = Path(self.folder)
    return Reads((str(folder / knowledge.MANIFEST),), (str(folder / knowledge.VECTORS),))

  def check(self, backbone: Backbone) -> None:
    """Raises InputError for a folder without knowledge."""
    open_knowledge(self.folder)

  def rooms(self, backbone: Backbone, words: int) -> dict[str, Room]:
    """Returns the room for candidates and their priors."""
    shape = (self.names, self.candidates)
    return {IDS: Room(shape, NONE), PRIORS: Room(shape, 0, np.float32)}

  def shapes(self, backbone: Backbone, words: int) -> dict[str, jax.ShapeDtypeStruct]:
    """Returns the shapes of a row's vectors and priors."""
    shape = (self.names, self.candidates)
    width = open_knowledge(self.folder).width
    return {
      VECTORS: jax.ShapeDtypeStruct((*shape, width), jnp.float32),
      PRIORS: jax.ShapeDtypeStruct(shape, jnp.float32),
    }

  def batch(self, backbone: Backbone, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Returns a batch with vectors in the place of ids."""
    return arrays | {VECTORS: open_knowledge(self.folder).vectors(arrays.pop(IDS))}


def candidates_of(
  text: str, mentions: Sequence[LinkedMention], knowledge: Knowledge, most: int
) -> list[Candidates]:
  """Returns the likeliest entities of each name, of those given with it if there are any."""
  in_text = candidates_in(text, [x[:2] for x in mentions], knowledge, most)
  return [
    likeliest if mention.candidates is None else alone(text, mention, knowledge, most)
    for mention, likeliest in zip(mentions, in_text, strict=True)
  ]


def alone(text: str, mention: LinkedMention, knowledge: Knowledge, most: int) -> Candidates:
  """Returns the likeliest entities of a name, whatever else is in the text."""
  if mention.candidates is None:
    return knowledge.candidates(text[mention.start : mention.end], most)
  priors: dict[int, float] = {}
  for title, prior in mention.candidates:
    id = knowledge.id_of(title)
    if id != NONE:
      priors[id] = priors.get(id, 0) + prior
  ids = sorted(priors, key=lambda id: -priors[id])[:most]
  likely = np.array([priors[id] for id in ids], np.float32)
  return Candidates(np.array(ids, np.int32), np.maximum(likely, UNLIKELY))


def candidates_in(
  text: str, spans: Sequence[Bounds], knowledge: Knowledge, most: int
) -> list[Candidates]:
  """Returns the likeliest entities of each name in a text.

  An entity that a name may mean is likelier if it is also meant by a longer name that contains it.
  """
  names = [" ".join(text[start:end].split()) for start, end in spans]
  by_name = {name: knowledge.candidates(name) for name in names}
  longer = _longer([name for name, (ids, _) in by_name.items() if len(ids)])
  for name, (ids, priors) in list(by_name.items()):
    if len(ids) > 1 and longer[name]:
      by_name[name] = _told(ids, priors, [knowledge.candidates(x) for x in longer[name]])
  return [Candidates(*(x[:most] for x in by_name[name])) for name in names]


def _longer(names: Collection[str]) -> Mapping[str, list[str]]:
  """Returns the names that contain each name, as whole words."""
  by_tokens = {tuple(TOKEN.findall(name)): name for name in names if len(name) <= LONGEST}
  longer: dict[str, list[str]] = defaultdict(list)
  for tokens, name in by_tokens.items():
    bounds = itertools.combinations(range(len(tokens) + 1), 2)
    for part in {tokens[start:end] for start, end in bounds} & by_tokens.keys():
      if part != tokens:
        longer[by_tokens[part]].append(name)
  return longer


def _told(ids: np.ndarray, priors: np.ndarray, longer: Sequence[Candidates]) -> Candidates:
  """Returns a name's entities, the likeliest first, with those that longer names mean before."""
  support = np.zeros(len(ids))
  for others, weights in longer:
    weight = dict(zip(others.tolist(), (weights / weights.sum()).tolist(), strict=True))
    support += [weight.get(id, 0) for id in ids.tolist()]
  if not support.any():
    return Candidates(ids, priors)
  told = (1 - OF_LONGER) * priors + OF_LONGER * priors.sum() * support / support.sum()
  order = np.argsort(-told, kind="stable")
  return Candidates(ids[order], told[order].astype(np.float32))


def entity_of(mention: LinkedMention, knowledge: Knowledge) -> int:
  """Returns the entity that a name means: the one with its item, or else with its title."""
  by_item = knowledge.id_of(mention.item) if mention.item else NONE
  return knowledge.id_of(mention.title) if by_item == NONE and mention.title else by_item


WITHHELD = 10  # one name in so many is trained without its entity, so that none of them is right
TRUSTS = (1.0, 0.75, 0.5, 0.25, 0.0)


def tuned(
  task: "EntityLinking", read: "ReadExamples", dev: Sequence[LinkingExample]
) -> Mapping[str, object]:
  """Returns the trust that is best on dev, and what scores mean there.

  So a linker that learnt too little is no worse than how often names mean entities.
  """
  task = dataclasses.replace(task, slope=1.0, offset=0.0)
  _, rows, logits = read(task, dev)
  tried = [dataclasses.replace(task, trust=trust) for trust in TRUSTS]
  found = [x.evaluate(dev, x.decode(dev, rows, logits)) for x in tried]
  best = max(range(len(tried)), key=lambda i: found[i].scores[task.metric])  # of equals the first
  answers = [*found[best].answers, *withheld(tried[best], read, dev)]
  settings: dict[str, object] = {"trust": TRUSTS[best]}
  if len(answers) >= ENOUGH_ANSWERS:
    slope, offset = fitted(answers)
    settings |= {"slope": round(slope, 6), "offset": round(offset, 6)}
  return settings


def withheld(
  task: "EntityLinking", read: "ReadExamples", examples: Sequence[LinkingExample]
) -> list[Answered]:
  """Returns the answers to some names whose entity is taken out, none of which is right."""
  task = dataclasses.replace(task, withhold=True)
  _, rows, logits = read(task, examples)
  answers = task.evaluate(examples, task.decode(examples, rows, logits)).answers
  return list(answers)[::WITHHELD]
