"""Rules from facts to the settings that suit people's data, each with its reason."""

import dataclasses
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from luke_jax.heads.kinds import HEADS
from luke_jax.models.system import Recipe, TokenCounts
from luke_jax.pipeline.batches import Lengths
from luke_jax.tasks.contract import TextTask
from luke_jax.tasks.running import Running
from luke_jax.training.experiment import Experiment, total_steps
from luke_jax.training.optimizer import Schedule
from luke_jax.training.pace import LEAST_DEV, SCORING

WIDTHS = range(64, 513, 64)  # of rows
HELD_OUT = 0.1  # share of the training file
MOST_LENGTHS = 6  # that rows are padded to
FEW_OF_A_LABEL = 32  # examples a label
BATCH = 16  # rows: a few hundred examples are then a hundred steps or more
# The width of a model up to which a rate suits it: narrow ones learn from little at high rates.
RATES = ((512, 5e-4), (768, 5e-5), (math.inf, 2e-5))
# From a head that is fitted: to texts, or to words.
RATES_OF_FEW = ((512, 1e-4), (math.inf, 2e-5))
RATES_OF_WORDS = ((512, 3e-4), *RATES[1:])
MANY_ROWS = 10_000  # rows, from which a task may want a lower rate
FEWEST_SCORES = 3  # that the time has to allow, or else a sample of dev is scored while training
MOST_SCORES, LEAST_SAMPLE = 5, 100  # at most so many times, and of so many examples at least
NOISE = 0.3  # of the difference of two scores on an example
ADAPTER_RATE = 1e-3  # their matrices begin at zero, and at the rates of kernels stay near it


class Facts(NamedTuple):
  """Facts that settings go by."""

  experiment: Experiment  # as the system's authors, the user and the rules before have it
  given: Collection[str] = ()  # names of the fields that the user set, which no rule changes
  lengths: np.ndarray = np.zeros(0, int)  # of the rows of the training file, in words
  fits: str = ""  # what the answers of the head are a linear layer over: "rows" or "words"
  pools_means: bool = False  # the start was trained for means of its states

  @property
  def task(self) -> TextTask:
    """Returns the task."""
    assert isinstance(self.experiment.task, TextTask)
    return self.experiment.task

  @property
  def from_nothing(self) -> bool:
    """Returns whether the system starts without weights, and by its authors' settings."""
    recipes = self.experiment.model.recipes
    return recipes.get(self.task.name, Recipe()).from_nothing

  @property
  def of_few_texts(self) -> bool:
    """Returns whether the head is fitted to the answers of whole texts, of which there are few."""
    head = HEADS.get(self.task.head)
    return self.task.fit_head and not (head and head.fits == "words")

  @property
  def all_spans(self) -> bool:
    """Returns whether all spans of words are candidates."""
    return self.task.scores_all_spans(self.experiment.backbone)


Values = Mapping[str, object]  # by the dotted names of fields
Rule = Callable[[Facts], Values]


class Reason(NamedTuple):
  """A setting that a rule made, and why."""

  name: str
  value: object
  why: str


def task_settings(facts: Facts) -> Values:
  """Settings that suit people's files, as the task says.

  Tags are the best path of a conditional random field. Texts are classified by the mean of their
  words' states where the start is a sentence encoder, such as `english`.
  """
  given = [name.removeprefix("task.") for name in facts.given]
  suited = facts.task.own_data(facts.pools_means, given)
  return {f"task.{name}": value for name, value in suited.items()}


def fitted_head(facts: Facts) -> Values:
  """The head begins as a ridge regression from the start's states to the labels.

  Of words always; of texts up to 32 examples a label, with the penalty that is best for examples
  left out one by one.
  """
  few = len(facts.lengths) <= FEW_OF_A_LABEL * len(facts.task.labels)
  able = not facts.from_nothing and (facts.fits == "words" or (facts.fits == "rows" and few))
  return {"task.fit_head": able}


def held_out(facts: Facts) -> Values:
  """A tenth of the training file is dev where none is given.

  Nothing of few examples a label: four of them would say little, and help the model by two points.
  """
  none = bool(facts.task.dev) or facts.of_few_texts
  return {"task.held_out": 0.0 if none else HELD_OUT}


def words(facts: Facts) -> Values:
  """Rows are as long as the longest text of the training file, by steps of 64 words."""
  room = min(facts.task.words, facts.experiment.model.room_for_words)
  longest = facts.lengths.max()
  return {"task.words": min(width for width in (*WIDTHS, room) if longest <= width <= room)}


def rate(facts: Facts) -> Values:
  """The rate is 5e-4 up to a width of 512, 5e-5 up to 768 (base models), and 2e-5 beyond.

  From a head that is fitted to words 3e-4 up to 512; from one that is fitted to texts 1e-4 up to
  512, and 2e-5 beyond. Of adapters 1e-3. For linking two fifths of that from 10,000 rows on.
  """
  experiment, task = facts.experiment, facts.task
  rates = RATES_OF_FEW if facts.of_few_texts else RATES_OF_WORDS if task.fit_head else RATES
  by_width = next(x for most, x in rates if experiment.model.hidden_size <= most)
  chosen = ADAPTER_RATE if experiment.optimizer.adapter > 0 else by_width
  share = task.rate_of_many if len(facts.lengths) >= MANY_ROWS else 1.0
  return {"optimizer.learning_rate": chosen * share}


def updates(facts: Facts) -> Values:
  """AdamW has its bias corrected, and gradients are cut to a norm of 1."""
  return {"optimizer.bias_correction": True, "optimizer.max_gradient_norm": 1.0}


def warm_up(facts: Facts) -> Values:
  """The rate rises in a tenth of the steps, and falls to 0."""
  return {"schedule.warmup_ratio": 0.1, "schedule.decay": Schedule().decay}


def epochs(facts: Facts) -> Values:
  """Training takes 10 epochs for 200 rows, fewer by the power -0.4 of their number, at least 2.

  13 for 100 rows, 5.3 for 1,000, 3.4 for 3,000, at most 20. Half as many from a head that is fitted
  to texts, twice as many where all spans of words are candidates.
  """
  if facts.experiment.run.steps is not None:
    return {}
  return {"run.epochs": _usual_epochs(facts)}


def batches(facts: Facts) -> Values:
  """Batches have 16 rows, and 32 to be scored."""
  devices = jax.device_count()
  sizes = math.lcm(BATCH, devices), math.lcm(2 * BATCH, devices)
  return {"data.batch_size": sizes[0], "data.evaluation_batch_size": sizes[1]}


def row_lengths(facts: Facts) -> Values:
  """Rows are padded to as many lengths as take the least time of compiling and training together.

  At most 6, by an estimate for two cores or an accelerator; half of the compiling counts, as its
  programs are kept for the next training. One for a LUKE's names, where candidates of short
  sentences would count for more.
  """
  able = facts.task.by_length or facts.all_spans
  number = _number_of_lengths(facts.experiment, facts.lengths, _usual_epochs(facts)) if able else 1
  return {"data.lengths": number}


def best_checkpoint(facts: Facts) -> Values:
  """Without dev no score chooses a checkpoint: the last one is the model."""
  return {} if facts.experiment.engine.scored else {"run.best_metric": None}


def scores(facts: Facts) -> Values:
  """Scoring dev takes a tenth of the time, at most ten times in all; fewer than 50 examples once.

  Where there is no time to score all of dev three times, a share of it chooses the checkpoint: at
  most five times, 100 examples at least, in what all of dev at the end leaves of the tenth, or half
  of it. Scores that differ by less than `run.tolerance` count as equal, of which the last is kept.
  """
  experiment = facts.experiment
  if not experiment.engine.scored:
    return {}
  if facts.from_nothing:  # whose authors scored once an epoch
    return {"run.evaluate_every": math.ceil(len(facts.lengths) / experiment.data.batch_size)}
  task, batch = facts.task, experiment.data.batch_size
  dev = Running(task).records(experiment.backbone, "dev")
  apart = len(dev) if task.held_out and not task.dev else 0
  steps = total_steps(
    experiment.run, max(1, round((len(facts.lengths) - apart) * task.used)), batch
  )
  able = _rows_to_score(experiment, facts.lengths, steps)
  often, share = min(10, int(able / len(dev))), 1.0
  if facts.of_few_texts or len(dev) < LEAST_DEV:
    often = 1
  elif often < FEWEST_SCORES:
    left = max(able - len(dev), able / 2) / len(dev)  # readings of dev
    often = min(MOST_SCORES, int(left * len(dev.examples) / LEAST_SAMPLE))
    share = round(left / often, 4) if often > 1 else 1.0
  values = {"run.evaluate_every": math.ceil(steps / max(1, often)), "task.sampled": share}
  if share < 1:
    values["run.tolerance"] = round(NOISE / math.sqrt(share * len(dev.examples)), 3)
  return values


# Of systems that start from weights; the others train by their authors' settings.
FROM_WEIGHTS: tuple[Rule, ...] = (rate, updates, warm_up, epochs, batches, row_lengths)
# In the order in which they are asked: each reads what those before have set.
RULES: tuple[Rule, ...] = (fitted_head, held_out, words, *FROM_WEIGHTS, best_checkpoint, scores)


def decided(facts: Facts, rules: Sequence[Rule] = RULES) -> tuple[Experiment, list[Reason]]:
  """Returns the experiment with what the rules set and the user did not, and the reasons."""
  reasons = []
  for rule in rules:
    if rule in FROM_WEIGHTS and facts.from_nothing:
      continue
    values = {name: x for name, x in rule(facts).items() if name not in facts.given}
    facts = facts._replace(experiment=_with_values(facts.experiment, values))
    why = (rule.__doc__ or "").partition("\n")[0]
    reasons += [Reason(name, x, why) for name, x in values.items()]
  return facts.experiment, reasons


def table() -> Iterator[str]:
  """Yields the lines of a table of the rules in Markdown."""
  yield "| rule | what suits people's data |"
  yield "|---|---|"
  for rule in (task_settings, *RULES):
    text = " ".join((rule.__doc__ or "").split())
    yield f"| `{rule.__name__}` | {text} |"


def _with_values(experiment: Experiment, values: Values) -> Experiment:
  groups: dict[str, dict[str, Any]] = {}
  for name, value in values.items():
    group, _, field = name.partition(".")
    groups.setdefault(group, {})[field] = value
  changed: dict[str, Any] = {
    group: dataclasses.replace(getattr(experiment, group), **fields)
    for group, fields in groups.items()
  }
  return dataclasses.replace(experiment, **changed)


def _usual_epochs(facts: Facts) -> float:
  rows = len(facts.lengths) * (1 - facts.task.held_out)
  most = 5 if facts.of_few_texts else 20 if facts.all_spans else 10
  return round(min(2 * most, max(2, most * (200 / rows) ** 0.4)), 1)


def _number_of_lengths(experiment: Experiment, lengths: np.ndarray, epochs: float) -> int:
  """Returns how many lengths have the least time of compiling and training together."""
  minutes, cost, forward = experiment.run.minutes, {}, _seconds_of_word(experiment)
  compiling = 11 if jax.default_backend() == "cpu" else 30
  if minutes is None:
    compiling /= 2
  for number in range(1, MOST_LENGTHS + 1):
    padded = _lengths(experiment, lengths, number).padded
    epoch, compiled = 3 * forward * padded, compiling * number
    if minutes is None:
      cost[number] = epoch * epochs + compiled
    else:
      cost[number] = epoch / max(60 * minutes - compiled, compiling)
  return min(cost, key=cost.__getitem__)


def _lengths(experiment: Experiment, lengths: np.ndarray, number: int) -> Lengths:
  task = experiment.task
  assert isinstance(task, TextTask)
  return Lengths.of(lengths, number, task.words)


def _rows_to_score(experiment: Experiment, lengths: np.ndarray, steps: int) -> float:
  """Returns how many rows of dev can be scored in a tenth of the time.

  A row that is scored costs a third of one that is trained on.
  """
  if experiment.run.minutes is None:
    return 3 * SCORING * steps * experiment.data.batch_size
  padded = _lengths(experiment, lengths, experiment.data.lengths).padded / len(lengths)
  return SCORING * 60 * experiment.run.minutes / (_seconds_of_word(experiment) * padded)


def _seconds_of_word(experiment: Experiment) -> float:
  """Returns an estimate of how long the forward pass takes for a word.

  On two cores or an accelerator, and not on this machine: a run may go on on another one.
  """
  task = experiment.task
  assert isinstance(task, TextTask)
  speed = 6e10 if jax.default_backend() == "cpu" else 5e13
  products = experiment.model.products(TokenCounts(1, task.words, 0))
  return sum(products.values()) / task.words / speed
