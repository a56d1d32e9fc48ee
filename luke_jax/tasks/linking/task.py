"""Entity linking as the engine trains it: each name against the entities that it may mean."""

import dataclasses
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np

from luke_jax.errors import InputError, check_whole
from luke_jax.files import Path
from luke_jax.formats.files import Faults
from luke_jax.heads.linking import PRIORS, SETTLED, UNLIKELY, LinkingHead
from luke_jax.models.network import Network
from luke_jax.models.system import Backbone
from luke_jax.nn.losses import IGNORED
from luke_jax.tasks.calibration import share_right
from luke_jax.tasks.contract import ExtraInputs, ReadExamples, TextTask, Unlabelled
from luke_jax.tasks.evaluation import Evaluation
from luke_jax.tasks.label_checks import check_none
from luke_jax.tasks.linking import score
from luke_jax.tasks.linking.candidates import (
  IDS,
  WITHHELD,
  CandidateVectors,
  alone,
  candidates_of,
  entity_of,
  tuned,
  withheld,
)
from luke_jax.tasks.linking.files import LinkedMention, LinkingExample, parse, read, to_json
from luke_jax.tasks.linking.knowledge import Candidates, Knowledge, open_knowledge
from luke_jax.tasks.linking.names import NONE
from luke_jax.tasks.predictions import Entity, Link
from luke_jax.text import Processor, Row, TextInput
from luke_jax.text.rows import Sizes
from luke_jax.training.task import Batch, Params, Tree

GIVEN_AS_SETTLED = 0.5  # of the names of a row, at most, are given as settled in training
NONE_BY_PRIOR = np.log(0.05)  # logit of none where names decide by how often they mean entities


class RowNames(NamedTuple):
  """Which names of its example a row decides, and what they may mean; `NONE` for padding."""

  numbers: np.ndarray  # (E,), NONE for one that another row decides
  spans: np.ndarray  # (E, 2)
  ids: np.ndarray  # (E, C)
  priors: np.ndarray  # (E, C)


@dataclasses.dataclass(frozen=True)
class EntityLinking(Unlabelled, TextTask):
  """Finds the entity that each name in a text means, or that it means none of the known."""

  labels: tuple[str, ...] = ()  # none: entities are those of the knowledge
  knowledge: str = ""  # folder that luke-jax entities describe made
  words: int = 128  # the longest row
  entities: int = 0  # names of a row, a window that has more takes several; 0: an eighth of words
  mention: int = 30  # positions of a name
  candidates: int = 16  # entities that a name may mean, the likeliest
  rounds: int = 1  # times that each name reads what those beside it mean
  # Passes over a row in which a LUKE settles its names, the surest first, and reads those that are
  # settled as their entities; 0: all names at once.
  steps: int = 0
  others: int = 3  # entities that are predicted beside the best one
  threshold: float = 0.5  # the least score of a name's entity where names are not given
  # Share of the learned logits in those that decide; the rest is how often names mean entities.
  trust: float = 1.0
  slope: float = 1.0  # of the logits that become scores
  offset: float = 0.0  # that is added to these
  find: bool = False  # find names also where examples have them
  fill: bool = False  # names with one candidate get random others, as in training
  withhold: bool = False  # no name has its own entity among its candidates
  refuse: bool = True  # a name may mean none of its candidates
  padded_mean: bool = False  # the loss is a mean over as many names a row as the fullest one has

  name: ClassVar[str] = "linking"
  calibrated: ClassVar[bool] = False
  answer: ClassVar[type | None] = Link
  rate_of_many: ClassVar[float] = 0.4
  metric: ClassVar[str] = "accuracy"
  heads: ClassVar[tuple[str, ...]] = ("linking",)
  fixed_entities: ClassVar[bool] = True

  def __post_init__(self) -> None:
    super().__post_init__()
    check_none(self.labels, "for entities are linked")
    check_whole(1, candidates=self.candidates)
    check_whole(0, entities=self.entities, rounds=self.rounds, steps=self.steps)
    for name, share in (("threshold", self.threshold), ("trust", self.trust)):
      if not 0 <= share <= 1:
        raise InputError(f"{name}: {share!r}; expected a number from 0 to 1")
    if self.knowledge and "://" not in self.knowledge:
      object.__setattr__(self, "knowledge", str(Path(self.knowledge).resolve()))

  def with_threshold(self, least: float) -> Self:
    """Returns the task with all answers of this score or more."""
    return dataclasses.replace(self, threshold=least)

  @property
  def sizes(self) -> Sizes:
    """Returns a row's room for words, for names and for the pieces of one."""
    return Sizes(self.words, self.entities or max(1, self.words // 8), self.mention)

  def tuned(
    self, read: ReadExamples, dev: Sequence[LinkingExample], train: Sequence[LinkingExample]
  ) -> Mapping[str, object]:
    """Returns how much it trusts what it learnt, and what its scores mean, if there is a dev."""
    return tuned(self, read, dev) if dev else {}

  @property
  def extra_inputs(self) -> tuple[ExtraInputs, ...]:
    """Returns the vectors of candidates."""
    return (CandidateVectors(self.knowledge, self.sizes.entities, self.candidates),)

  read = staticmethod(read)
  parse = staticmethod(parse)
  to_json = staticmethod(to_json)
  check_example = staticmethod(score.check_meanings)
  answers_withheld = withheld

  def network(self, backbone: Backbone) -> Network:
    """Returns a backbone with a head for vectors as wide as those of the knowledge."""
    knowledge, system = open_knowledge(self.knowledge), backbone.config
    if self.steps and not system.entity_width:
      raise InputError(
        f"task.steps: {self.steps}; expected 0, for no entity tokens of {system.title} can be given"
        " as vectors"
      )
    head = LinkingHead(
      backbone.numerics_of(LinkingHead.kind),
      knowledge.width,
      rounds=self.rounds,
      described_by=knowledge.described_by,
      entity_width=system.entity_width if self.steps else 0,
      steps=self.steps,
    )
    return Network(backbone, head)

  def check_head(self, model: Network) -> None:
    """Raises InputError for knowledge that another model describes than the linker's."""
    head, described = model.head, self.network(model.backbone).head
    assert isinstance(head, LinkingHead) and isinstance(described, LinkingHead)
    if described.vectors != head.vectors:
      expected = f"expected knowledge that the same model describes, of width {head.vectors}"
      raise InputError(f"task.knowledge: vectors of width {described.vectors}; {expected}")
    if len({described.described_by, head.described_by, ""}) == 3:
      expected = "expected the one that described the entities that it was trained with"
      raise InputError(f"task.knowledge: described by another model than the linker's; {expected}")

  def loss(
    self, backbone: Backbone, params: Params, batch: Batch, weights: Tree, key: jax.Array | None
  ) -> tuple[jax.Array, dict[str, jax.Array]]:
    """Returns the weighted loss; with `steps` that of the names which are not given as settled.

    Of each row none to half of them are.
    """
    if self.steps and key is not None:
      key, of_rows, of_names = jax.random.split(key, 3)
      share = jax.random.uniform(of_rows, (len(weights), 1), maxval=GIVEN_AS_SETTLED)
      labels = batch["labels"]
      given = jax.random.uniform(of_names, labels.shape) < share
      given &= (labels >= 0) & (labels < self.candidates)
      batch = {**batch, SETTLED: jnp.where(given, labels, -1)}
      left = jnp.where(given, 0, weights)
      weights = left * weights.sum() / jnp.maximum(left.sum(), 1e-9)
    return super().loss(backbone, params, batch, weights, key)

  def for_training(self) -> Self:
    """Returns the task whose rows have random entities beside a sole one."""
    return dataclasses.replace(self, fill=True)

  def features(
    self, processor: Processor, examples: Sequence[LinkingExample], faults: Faults | None = None
  ) -> list[Row]:
    """Returns the windows of each text that have names."""
    knowledge, faults = open_knowledge(self.knowledge), faults or Faults(skip=self.skip_bad)
    rows: list[Row] = []
    for number, example in enumerate(examples):
      mentions = self._mentions(example, knowledge)
      if not mentions:
        continue
      spans = [(x.start, x.end) for x in mentions]
      with faults.caught():
        text = TextInput(example.text, entity_spans=spans)
        stride = max(1, processor.max_length * 3 // 4)
        found = processor.windows([text], stride=stride, offsets=False)
        rows += self._rows(example, number, mentions, found)
    return rows

  def _mentions(self, example: LinkingExample, knowledge: Knowledge) -> Sequence[LinkedMention]:
    if example.mentions is not None and not self.find:
      return example.mentions
    return [LinkedMention(start, end) for start, end in knowledge.names_in(example.text)]

  def _rows(
    self,
    example: LinkingExample,
    number: int,
    mentions: Sequence[LinkedMention],
    windows: Sequence[Row],
  ) -> Iterator[Row]:
    """Yields windows with candidates; a name in several is decided where most is around it."""
    knowledge = open_knowledge(self.knowledge)
    likeliest = candidates_of(example.text, mentions, knowledge, self.candidates)
    found = [
      self._candidates(example.text, *pair, knowledge)
      for pair in zip(mentions, likeliest, strict=True)
    ]
    around: dict[int, tuple[int, int]] = {}
    for i, row in enumerate(windows):
      for entity in row.entities or ():
        margin = min(entity.tokens[0], len(row.input_ids) - entity.tokens[1])
        around[entity.number] = max(around.get(entity.number, (-1, 0)), (margin, -i))
    for i, row in enumerate(windows):
      entities = row.entities or ()
      decided = [x.number if -around[x.number][1] == i else NONE for x in entities]
      if all(x == NONE for x in decided):
        continue
      ids, priors = (np.stack([found[x.number][k] for x in entities]) for k in (0, 1))
      labels = [
        IGNORED if x == NONE else self._label(mentions[x], found[x][0], knowledge) for x in decided
      ]
      source = RowNames(
        np.array(decided), np.array([mentions[x.number][:2] for x in entities]), ids, priors
      )
      row = dataclasses.replace(row, example=number, extra={IDS: ids, PRIORS: priors})
      yield row.labelled(np.array(labels, np.int32), source)

  def _label(self, mention: LinkedMention, ids: np.ndarray, knowledge: Knowledge) -> int:
    """Returns the place of a name's entity among its candidates, the one after them for none."""
    if mention.title is None:
      return IGNORED
    places = np.flatnonzero((ids == entity_of(mention, knowledge)) & (ids != NONE))
    return int(places[0]) if len(places) else self.candidates if self.refuse else IGNORED

  def _candidates(
    self, text: str, mention: LinkedMention, likeliest: Candidates, knowledge: Knowledge
  ) -> tuple[np.ndarray, np.ndarray]:
    """Returns the entities that a name may mean and their priors, (C,) each."""
    start, end, *_ = mention
    place, right = text[max(0, start - 40) : end], entity_of(mention, knowledge)
    if self.withhold:
      likeliest = _without(right, place, knowledge, likeliest)
    elif self.fill and mention.candidates is None:
      likeliest = self._filled(place, right, knowledge, likeliest)
    ids, priors = likeliest
    room = self.candidates - len(ids)
    return (
      np.pad(ids.astype(np.int32), (0, room), constant_values=NONE),
      np.pad(priors.astype(np.float32), (0, room)),
    )

  def _filled(
    self, place: str, right: int, knowledge: Knowledge, candidates: Candidates
  ) -> Candidates:
    """Returns candidates to train on.

    One name in ten is without the right one. Half of the names that have one candidate get random
    others beside it, so that descriptions are read, and the rest are as they will be.
    """
    seed = _seed(place)
    rng = np.random.default_rng(seed)
    ids, priors = candidates
    withheld = seed % WITHHELD == 0
    if len(ids) == 1:
      alone = bool(rng.integers(2))
      drawn = rng.integers(0, len(knowledge), self.candidates, np.int32)
      drawn = drawn[~np.isin(drawn, (right, *ids))]
      ids = drawn[:1] if alone and withheld else ids if alone else np.concatenate([ids, drawn])
      ids = ids[: self.candidates]
      priors = np.full(len(ids), priors[0] / len(ids))
    if withheld and len(ids) > 1:
      kept = ids != right
      ids, priors = ids[kept], priors[kept]
    return Candidates(ids, np.maximum(priors, UNLIKELY))

  def weights(self, batch: Batch) -> jax.Array:
    """Returns the weights of a batch's labels; with `padded_mean` they sum to less than 1."""
    if not self.padded_mean:
      return super().weights(batch)
    named = batch["labels"] != IGNORED
    return named / (len(named) * jnp.maximum(named.sum(-1).max(), 1))

  def label_shape(self, sizes: Sizes) -> tuple[int, ...]:
    """Returns the shape of a row's labels: one for each name."""
    return (sizes.entities,)

  def decode(
    self, examples: Sequence[LinkingExample], rows: Sequence[Row], outputs: Mapping[str, Any]
  ) -> list[list[Link]]:
    """Returns the links of each text in order; of names that were found, those with an entity."""
    knowledge = open_knowledge(self.knowledge)
    links: list[list[Link]] = [[] for _ in examples]
    for i, row in enumerate(rows):
      example, source = examples[row.example], row.source
      for place in np.flatnonzero(source.numbers != NONE):
        logits = self._decisive(outputs["logits"][i][place], source.priors[place])
        link = self._link(example.text, source.spans[place], source.ids[place], logits, knowledge)
        found = link.title is not None and link.score >= self.threshold
        if found or (example.mentions is not None and not self.find):
          links[row.example].append(link)
    return [sorted(of_one, key=lambda link: link.start) for of_one in links]

  def _decisive(self, logits: np.ndarray, priors: np.ndarray) -> np.ndarray:
    """Returns the logits of candidates and none, (C + 1,), with the priors as `trust` says."""
    logits = np.asarray(logits, np.float64)
    if self.trust == 1:
      return logits
    by_prior = np.append(np.log(np.maximum(priors, UNLIKELY)), NONE_BY_PRIOR)
    by_prior[:-1][priors == 0] = -1e9  # padding
    return self.trust * logits + (1 - self.trust) * by_prior

  def _link(
    self, text: str, span: np.ndarray, ids: np.ndarray, logits: np.ndarray, knowledge: Knowledge
  ) -> Link:
    start, end = span.tolist()
    shares = np.exp(logits - np.logaddexp.reduce(logits))
    order = [i for i in np.argsort(-shares[:-1], kind="stable") if ids[i] != NONE]
    entities = []
    for i in order[: self.others + 1]:
      about = knowledge.about(int(ids[i]))
      score = share_right(float(shares[i]), self.slope, self.offset)
      entities.append(Entity(about.title, about.item, score))
    name = text[start:end]
    if not entities or (self.refuse and shares[-1] > shares[order[0]]):
      return Link(name, start, end, None, None, float(shares[-1]), tuple(entities[: self.others]))
    best, *others = entities
    evidence = tuple(knowledge.evidence(name, int(ids[order[0]])))
    return Link(name, start, end, best.title, best.item, best.score, tuple(others), evidence)

  def evaluate(
    self, examples: Sequence[LinkingExample], predictions: Sequence[Sequence[Link]]
  ) -> Evaluation:
    """Returns accuracy and the figures around it, and those of the likeliest candidates alone."""
    knowledge = open_knowledge(self.knowledge)
    candidates = [self._titled(example, knowledge) for example in examples]
    return score.evaluate(examples, predictions, candidates)

  def _titled(self, example: LinkingExample, knowledge: Knowledge) -> score.Candidates:
    """Returns the places of the right entities among the candidates of an example's names."""
    found: score.Candidates = {}
    for mention in example.mentions or ():
      if (mention.title or mention.item) and not mention.optional:
        ids = alone(example.text, mention, knowledge, self.candidates).ids.tolist()
        id = entity_of(mention, knowledge)
        place = ids.index(id) if id in ids else None
        found[mention[:2]] = score.Place(place, len(ids), id != NONE)
    return found

  def to_prediction(self, example: LinkingExample, prediction: Sequence[Link]) -> dict[str, Any]:
    """Returns an example's line in a file of predictions."""
    links = [[x.start, x.end, x.title, x.item, round(x.score, 4)] for x in prediction]
    others = [[[y.title, y.item, round(y.score, 4)] for y in x.others] for x in prediction]
    evidence = [list(map(list, x.evidence)) for x in prediction]
    return {"id": example.id, "links": links, "others": others, "evidence": evidence}


def _seed(place: str) -> int:
  return int.from_bytes(hashlib.sha256(place.encode()).digest()[:8], "little")


def _without(right: int, place: str, knowledge: Knowledge, likeliest: Candidates) -> Candidates:
  """Returns the candidates of a name but for its entity: if none is left, a random other one."""
  ids, priors = likeliest
  others = ids != right
  if others.any() or not len(ids):
    return Candidates(ids[others], priors[others])
  drawn = np.random.default_rng(_seed(place)).integers(0, len(knowledge), len(ids), np.int32)
  return Candidates(np.where(drawn == right, (drawn + 1) % len(knowledge), drawn), priors)
