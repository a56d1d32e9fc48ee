"""Experiments that fine-tune a model on a user's files, with the settings of its authors."""

import dataclasses
import math
import warnings
from collections.abc import Container, Sequence
from typing import Any

import jax
import numpy as np

from luke_jax import english
from luke_jax.convert.adapters import adapter_rank, is_adapter_directory
from luke_jax.convert.card import pools_means
from luke_jax.convert.parts import ModelParts
from luke_jax.convert.sources import read_backbone
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.heads.kinds import HEADS, heads_of
from luke_jax.inference.settings import processor_of
from luke_jax.models.system import Backbone, Recipe, System, TokenCounts
from luke_jax.models.table import SIZES
from luke_jax.pipeline.batches import Data, Lengths
from luke_jax.runs.fitted_heads import fits
from luke_jax.runs.models import model_directory, start_weights
from luke_jax.runs.starts import start_model
from luke_jax.tasks.contract import TextTask
from luke_jax.tasks.files import Faults
from luke_jax.tasks.known import BY_TAGS, CLASSES, is_known, task_class
from luke_jax.tasks.running import Running, checked, read_examples
from luke_jax.text import Row
from luke_jax.text.entity_vocab import SPECIAL_ENTITIES
from luke_jax.training.experiment import Experiment, Run, load_experiment, total_steps
from luke_jax.training.optimizer import Optimizer, Schedule
from luke_jax.training.overrides import override
from luke_jax.training.pace import SCORING, TELLING

WIDTHS = range(64, 513, 64)  # of rows
FORM, FORMS = "task.form", {"spans": "ner", "tags": BY_TAGS}  # of names
KNOWS_NAMES = "labels"  # the model of the box whose encoder names of any kind start from
_OWN_DATA: dict[str, dict[str, Any]] = {BY_TAGS: {"crf": True}}  # beside the defaults of a task
# Share of the training file that is dev where no file of dev is given. Of a few examples a label
# none are, since each makes the model better and a score of four says nothing.
HELD_OUT = 0.1
MOST_LENGTHS = 6  # that rows are padded to
FEW = 32  # examples a label, up to which the head is fitted first, and all trains for less long
BATCH = 16  # rows: a few hundred examples are then a hundred steps or more
# The width of a model up to which a rate suits it: narrow ones learn from little at high rates.
RATES = ((512, 5e-4), (768, 5e-5), (math.inf, 2e-5))
# From a head that is fitted: to texts, or to words.
RATES_OF_FEW = ((512, 1e-4), (math.inf, 2e-5))
RATES_OF_WORDS = ((512, 3e-4), *RATES[1:])
# Rows of linking, from which its rate is this share of these.
MANY, SHARE_OF_MANY = 10_000, 0.4
# Candidates of a row whose words are read once for all of them.
MOST_TOGETHER = 1024
FEWEST_SCORES = 3  # that the time has to allow, or else a sample of dev is scored while training
SCORES, LEAST_SAMPLE = 5, 100  # at most so many times, and of so many examples at least
NOISE = 0.3  # of the difference of two scores on an example
RANK = 16  # of adapters, for a task whose model has to be one
ADAPTER_RATE = 1e-3  # their matrices begin at zero, and at the rates of kernels stay near it


def task_experiment(
  kind: str | type,
  files: tuple[str | Path, Path | None],
  start: Path,
  assignments: Sequence[str],
  *,
  system: type[System] | None = None,
) -> Experiment:
  """Returns the experiment of a task, a name or a user's own class, on files of train and dev.

  Its settings suit the number and the lengths of the examples; `assignments` change them. `system`
  is that of the start, if it is the user's own.
  """
  names_of_english = kind in FORMS.values() and start == Path(english.NAME)
  begun = english.directory(KNOWS_NAMES) if names_of_english else model_directory(start)
  start = start_weights(begun)
  backbone = read_backbone(start, system)
  system = type(backbone.config)
  if kind == "ner":
    kind, assignments = form_of_names(backbone, assignments)
  of_task = [text for text in assignments if text.startswith("task.")]
  train, dev = (str(file or "") for file in files)
  plain = plain_experiment(kind)
  named: Any = plain.task
  check_able(named, system, start)
  recipe = system.recipes.get(named.name, Recipe())
  named = dataclasses.replace(named, **_OWN_DATA.get(named.name, {}))
  if named.name == "classification" and pools_means(start):
    with_attributes = any(text.startswith("task.attributes") for text in of_task)
    named = dataclasses.replace(named, pooling="first" if with_attributes else "mean")
  named = dataclasses.replace(named, train=train, dev=dev, held_out=0.0 if dev else HELD_OUT)
  on_files = dataclasses.replace(named, text=str(start), **recipe.task)
  task: Any = override(dataclasses.replace(plain, task=on_files), of_task).task
  faults = Faults(skip=task.skip_bad)
  task, examples = _with_examples(task, faults)
  model = start_model(start, task, task.entity_table, system=system, blank=True)
  of_model = [text for text in assignments if text.startswith("model.")]
  sizes = override(dataclasses.replace(plain, model=model.config), of_model).model
  model = model.with_config(sizes, model.params)
  room = min(task.words, model.config.room_for_words)
  task = dataclasses.replace(task, words=room)
  by_data = kind == "ner" and not any(text.startswith("task.entities") for text in of_task)
  with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of the parts to train and to score on there will be some
    task, rows = _with_rows(task, model, examples, faults, candidates_by_data=by_data)
  if not rows:
    raise InputError(f"{train}: no examples with answers; expected one at least")
  if not any(text.startswith("task.fit_head") for text in of_task):
    few = task.name == BY_TAGS or len(rows) <= FEW * len(task.labels)
    able = fits(model) and is_known(type(task)) and not recipe.from_nothing
    task = dataclasses.replace(task, fit_head=few and able)
  if _of_few_texts(task) and not any(text.startswith("task.held_out") for text in of_task):
    task = dataclasses.replace(task, held_out=0.0)
  lengths = np.array([len(row.input_ids) for row in rows])
  if not any(text.startswith("task.words") for text in of_task):
    fitting = [width for width in (*WIDTHS, room) if lengths.max() <= width <= room]
    task = dataclasses.replace(task, words=min(fitting))
  experiment = _with_recipe(model.config.for_fine_tuning, task, str(begun))
  return _for_examples(experiment, lengths, assignments)


def _with_examples(task: Any, faults: Faults) -> tuple[Any, list[Any]]:
  """Returns a task with the labels of its files, and the examples to train on."""
  examples = read_examples(task, task.train, faults)
  if not examples:
    raise InputError(f"{task.train}: no examples; expected one at least")
  of_dev = read_examples(task, task.dev, faults) if task.dev else []
  if not task.labels:
    _ = task.found_labels(examples)  # which says if they are too few to learn from
    # A label that dev alone has is one that the model misses, and no fault of the files.
    task = dataclasses.replace(task, labels=task.found_labels([*examples, *of_dev]))
  examples = checked(task, examples, faults)
  checked(task, of_dev, faults)  # whose faults should not wait for the model
  return task, examples


def _with_rows(
  task: Any, model: ModelParts, examples: list[Any], faults: Faults, *, candidates_by_data: bool
) -> tuple[Any, list[Row]]:
  """Returns a task, with room for the candidates of its rows if they decide it, and the rows."""
  processor = processor_of(model, task)
  if not (candidates_by_data and processor.entity_reading == "independent"):
    return task, task.features(processor, examples, faults)
  task = dataclasses.replace(task, entities=MOST_TOGETHER)
  rows = task.features(processor_of(model, task), examples, faults)
  most = max((len(row.entity_ids) for row in rows), default=1)
  return dataclasses.replace(task, entities=min(MOST_TOGETHER, 64 * math.ceil(most / 64))), rows


def made_up_experiment(
  config: System, task: TextTask, lengths: np.ndarray, assignments: Sequence[str]
) -> Experiment:
  """Returns the experiment of a task on rows of these lengths, without files and a start."""
  return _for_examples(_with_recipe(config.for_fine_tuning, task, None), lengths, assignments)


def _for_examples(
  experiment: Experiment, lengths: np.ndarray, assignments: Sequence[str]
) -> Experiment:
  """Returns the experiment with settings for rows of these lengths, changed by the assignments."""
  recipe = experiment.model.recipes.get(experiment.task.name, Recipe())
  if any(text.startswith("run.steps=") for text in assignments):
    assignments = ["run.epochs=null", *assignments]
  changed = override(experiment, assignments)
  if not recipe.from_nothing:
    experiment = _suited(experiment, lengths, changed)
  if not changed.engine.scored:
    scores = ["run.best_metric=null"]
  elif recipe.from_nothing:  # whose authors scored once an epoch
    scores = [f"run.evaluate_every={math.ceil(len(lengths) / changed.data.batch_size)}"]
  else:
    scores = _evaluations(override(experiment, assignments), lengths)
  return consistent(override(experiment, [*scores, *assignments]))


def form_of_names(backbone: Backbone, assignments: Sequence[str]) -> tuple[str, list[str]]:
  """Returns the task that finds names with a system, and the assignments without `task.form`.

  Spans that are read as entities need entity tokens; tags learn faster without.
  """
  others = [text for text in assignments if not text.startswith(f"{FORM}=")]
  chosen = [text.partition("=")[2] for text in assignments if text.startswith(f"{FORM}=")]
  form = chosen[-1] if chosen else "spans" if backbone.entities else "tags"
  if form not in FORMS:
    raise InputError(f"{FORM}: {form!r}; expected one of {', '.join(FORMS)}")
  other = next(name for name in FORMS if name != form)
  fields, of_other = (
    {x.name for x in dataclasses.fields(task_class(FORMS[f]))} for f in (form, other)
  )
  for text in others:
    name = text.partition("=")[0]
    if name.removeprefix("task.") in of_other - fields:
      raise InputError(
        f"{name}: a setting of {other}, and names are found by {form} here; expected"
        f" {FORM}={other} with it"
      )
  return FORMS[form], others


def _suited(experiment: Experiment, lengths: np.ndarray, changed: Experiment) -> Experiment:
  """Returns the experiment with settings for as many rows, of these lengths.

  They suit the adapter and the minutes that the user `changed` it to.
  docs/training.md has the table, and says what it was tried on.
  """
  devices, task = jax.device_count(), experiment.task
  assert isinstance(task, TextTask)
  width = experiment.model.hidden_size
  adapter = changed.optimizer.adapter > 0
  many = task.name == "linking" and len(lengths) >= MANY
  of_few = _of_few_texts(task)
  rates = RATES_OF_FEW if of_few else RATES_OF_WORDS if task.fit_head else RATES
  rate = ADAPTER_RATE if adapter else next(rate for most, rate in rates if width <= most)
  optimizer = dataclasses.replace(
    experiment.optimizer,
    learning_rate=rate * (SHARE_OF_MANY if many else 1),
    bias_correction=True,
    max_gradient_norm=1.0,
  )
  rows = len(lengths) * (1 - task.held_out)
  all_spans = task.scores_all_spans(experiment.backbone)
  most = 5 if of_few else 20 if all_spans else 10
  epochs = round(min(2 * most, max(2, most * (200 / rows) ** 0.4)), 1)
  data = Data(
    batch_size=math.lcm(BATCH, devices),
    evaluation_batch_size=math.lcm(2 * BATCH, devices),
    lengths=(_number_of_lengths(changed, lengths, epochs) if task.by_length or all_spans else 1),
  )
  return dataclasses.replace(
    experiment,
    data=data,
    optimizer=optimizer,
    schedule=Schedule(warmup_ratio=0.1),
    run=dataclasses.replace(experiment.run, epochs=epochs),
  )


def _of_few_texts(task: TextTask) -> bool:
  """Returns whether the head is fitted to the answers of whole texts, of which there are few."""
  return task.fit_head and task.name != BY_TAGS


def _number_of_lengths(experiment: Experiment, lengths: np.ndarray, epochs: float) -> int:
  """Returns how many lengths have the least time of compiling and training together."""
  task = experiment.task
  assert isinstance(task, TextTask)
  minutes, cost, forward = experiment.run.minutes, {}, _seconds_of_word(experiment)
  compiling = 11 if jax.default_backend() == "cpu" else 30
  if minutes is None:  # programs are kept for the next training, so that half of it counts
    compiling /= 2
  for number in range(1, MOST_LENGTHS + 1):
    words = Lengths.of(lengths, number, task.words).padded
    epoch, compiled = 3 * forward * words, compiling * number
    if minutes is None:
      cost[number] = epoch * epochs + compiled
    else:
      cost[number] = epoch / max(60 * minutes - compiled, compiling)
  return min(cost, key=cost.__getitem__)


def _seconds_of_word(experiment: Experiment) -> float:
  """Returns an estimate of how long the forward pass takes for a word.

  On two cores or an accelerator, and not on this machine: a run may go on on another one.
  """
  task = experiment.task
  assert isinstance(task, TextTask)
  speed = 6e10 if jax.default_backend() == "cpu" else 5e13
  products = experiment.model.products(TokenCounts(1, task.words, 0))
  return sum(products.values()) / task.words / speed


def _evaluations(experiment: Experiment, lengths: np.ndarray) -> list[str]:
  """Returns the assignments by which scores while training take at most a tenth of the time.

  The training file has rows of these lengths. Where all of dev takes too long for that, a sample of
  it chooses the checkpoint, in the time that all of it at the end leaves of the tenth, or in half.
  """
  task, batch = experiment.task, experiment.data.batch_size
  assert isinstance(task, TextTask)
  dev = Running(task).records(experiment.backbone, "dev")
  held_out = len(dev) if task.held_out and not task.dev else 0
  rows = max(1, round((len(lengths) - held_out) * task.used))
  steps = total_steps(experiment.run, rows, batch)
  # A row that is scored costs a third of one that is trained on.
  able = 3 * SCORING * steps * batch
  if experiment.run.minutes is not None:
    words = Lengths.of(lengths, experiment.data.lengths, task.words).padded / len(lengths)
    able = SCORING * 60 * experiment.run.minutes / (_seconds_of_word(experiment) * words)
  often, share = min(10, int(able / len(dev))), 1.0
  if _of_few_texts(task) or len(dev) < TELLING:
    often = 1
  elif often < FEWEST_SCORES:
    left = max(able - len(dev), able / 2) / len(dev)  # readings of dev
    often = min(SCORES, int(left * len(dev.examples) / LEAST_SAMPLE))
    share = round(left / often, 4) if often > 1 else 1.0
  settings = [f"run.evaluate_every={math.ceil(steps / max(1, often))}", f"task.sampled={share}"]
  if share < 1:
    settings.append(f"run.tolerance={NOISE / math.sqrt(share * len(dev.examples)):.3f}")
  return settings


def check_able(task: TextTask, system: type[System], start: Path) -> None:
  """Raises InputError for a system without a head for one of the tasks that have names."""
  if is_known(type(task)) and task.name not in _tasks_with(heads_of(system)):
    able = ", ".join(_tasks_with(heads_of(system)))
    raise InputError(
      f"{start}: a {system.title}, which has no head for {task.name}; expected one of {able}, or"
      " another model"
    )


def plain_experiment(kind: str | type) -> Experiment:
  """Returns the recipe for a task, a name or a user's own class, without files and a start."""
  chosen = task_class(kind) if isinstance(kind, str) else kind
  if not (isinstance(chosen, type) and issubclass(chosen, TextTask)):
    name = chosen.__name__ if isinstance(chosen, type) else f"a {type(chosen).__name__}"
    expected = f"a name, such as ner, or a subclass of {TextTask.__module__}.TextTask"
    raise InputError(f"task {name}: no task; expected {expected}")
  return _with_recipe(SIZES["tiny"], chosen(), None)


def start_sizes(
  task: TextTask | type[TextTask], start: Path, system: type[System] | None = None
) -> System:
  """Returns the sizes of the model that a task, a class or a value, trains from a directory."""
  config = read_backbone(start, system).config
  if task.entity_table == "special" and config.decoders.entities:
    config = config.with_entities(len(SPECIAL_ENTITIES), SPECIAL_ENTITIES.pad_id)
  added = len(config.added_words(task.name, task.new_words))
  return dataclasses.replace(config, vocab_size=config.vocab_size + added)


def _with_recipe(config: System, task: TextTask, start: str | None) -> Experiment:
  recipe = config.recipes.get(task.name, Recipe())
  devices = jax.device_count()
  sizes = math.lcm(recipe.batch_size, devices), math.lcm(32, devices)
  return Experiment(
    model=config,
    task=task,
    data=Data(*sizes, lengths=recipe.lengths),
    optimizer=Optimizer(
      learning_rate=recipe.learning_rate,
      beta2=recipe.beta2,
      max_gradient_norm=recipe.max_gradient_norm,
      frozen=(*recipe.frozen, *config.unread),
      adapter=_rank(start) if task.head in HEADS and HEADS[task.head].reads_start else 0,
      **recipe.optimizer,
    ),
    schedule=Schedule(warmup_ratio=recipe.warmup_ratio, decay=recipe.decay),
    run=Run(epochs=recipe.epochs, start=start, best_metric=task.metric),
  )


def _rank(start: str | None) -> int:
  """Returns the rank of the adapter that a training goes on from, or of a new one."""
  if start is None or not is_adapter_directory(Path(start)):
    return RANK
  return adapter_rank(Path(start))


def read_experiment(file: Path, assignments: Sequence[str]) -> Experiment:
  """Returns the experiment of a file, changed."""
  return consistent(override(load_experiment(file), assignments))


def consistent(experiment: Experiment) -> Experiment:
  """Returns an experiment whose model has no entities without what only entities have."""
  backbone = experiment.backbone
  if backbone.entities or not isinstance(experiment.task, TextTask):
    return experiment
  tables = backbone.config.layout.entities
  frozen = tuple(
    pattern
    for pattern in experiment.optimizer.frozen
    if not any(table.startswith(pattern) for table in tables)
  )
  return dataclasses.replace(
    experiment,
    model=backbone.config.with_entities(0, None),
    optimizer=dataclasses.replace(experiment.optimizer, frozen=frozen),
  )


def _tasks_with(heads: Container[str]) -> tuple[str, ...]:
  """Returns the names of the tasks that need one of these kinds of heads."""
  return tuple(x for x in CLASSES if any(head in heads for head in task_class(x).heads))
