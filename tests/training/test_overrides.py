"""Experiments from saved configs and the command line: what fits, and every fault."""

import dataclasses
import json
from pathlib import Path
from typing import Literal, Optional, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_systems import small

from luke_jax.errors import InputError
from luke_jax.models.system import Running
from luke_jax.models.table import SIZES, systems
from luke_jax.pipeline.batches import Data
from luke_jax.systems.ernie_baidu.pretraining import UnitPretraining
from luke_jax.systems.ernie_thu.pretraining import AlignedPretraining
from luke_jax.tasks.synthetic import SyntheticPretraining
from luke_jax.training.experiment import (
  Experiment,
  Run,
  describe,
  differences,
  from_dict,
  to_dict,
  to_json,
)
from luke_jax.training.mesh import MeshShape
from luke_jax.training.optimizer import Decay, Optimizer, Schedule
from luke_jax.training.overrides import override
from luke_jax.training.task import Task


@dataclasses.dataclass(frozen=True)
class Masking:
  share: float = 0.15
  kinds: tuple[str, ...] = ("word", "entity")

  def __post_init__(self):
    if not 0 <= self.share <= 1:
      raise InputError(f"share: {self.share}; expected a number from 0 to 1")


@dataclasses.dataclass(frozen=True)
class EveryKind(Task):
  """A task's settings of every type that there may be."""

  folder: Path
  flag: bool = False
  count: int = 3
  rate: float = 0.5
  name: str = ""
  either: int | float | None = None
  text: Optional[str] = None  # noqa: UP045
  mode: Literal["fast", "none", 2] | None = "fast"
  sizes: tuple[int, ...] = ()
  pair: tuple[str, float] = ("a", 1.0)
  scales: tuple[float | None, ...] = ()
  masking: Masking = Masking()
  second: Masking | None = Masking(0.5)
  rounds: tuple[Masking, ...] = (Masking(), Masking(0.1))
  length: int = dataclasses.field(init=False, default=0)

  def __post_init__(self):
    object.__setattr__(self, "length", len(self.name))

  def method(self):
    return self


EveryKind.__abstractmethods__ = frozenset()  # nothing here calls the functions of a task
BASE = Experiment(SIZES["tiny"], EveryKind(Path("data")))

wholes = st.integers(1, 2**31 - 1)
floats = st.floats(allow_nan=False, allow_infinity=False)
above_0 = st.floats(1e-300, 1e300)
# Spaces around a value are not part of it, and null has a meaning of its own.
texts = st.text(st.characters(exclude_categories=("Cs",))).map(str.strip)
words = texts.filter(lambda text: text.lower() not in ("null", "none"))
maskings = st.builds(Masking, share=st.floats(0, 1), kinds=st.lists(texts).map(tuple))
tasks = st.builds(
  EveryKind,
  folder=st.sampled_from([Path("data"), Path("/a b/c=d"), Path()]),
  flag=st.booleans(),
  count=st.integers(),
  rate=floats,
  name=texts,
  either=st.one_of(st.none(), st.integers(), floats),
  text=st.one_of(st.none(), words),
  mode=st.sampled_from(["fast", "none", 2, None]),
  sizes=st.lists(st.integers()).map(tuple),
  pair=st.tuples(texts, floats),
  scales=st.lists(st.one_of(st.none(), floats)).map(tuple),
  masking=maskings,
  second=st.one_of(st.none(), maskings),
  rounds=st.lists(maskings, max_size=3).map(tuple),
)
DROPPING = [x for x in SIZES.values() if hasattr(x, "hidden_dropout_prob")]  # ModernBERT does not
experiments = st.builds(
  Experiment,
  model=st.builds(
    dataclasses.replace,
    st.sampled_from(DROPPING),
    vocab_size=wholes,
    hidden_dropout_prob=st.floats(0, 0.9),
  ),
  task=tasks,
  running=st.builds(
    Running,
    dtype=st.sampled_from(["float32", "bfloat16"]),
    attention=st.sampled_from(["einsum", "blocks", "pallas", "fused"]),
    remat=st.sampled_from(["none", "dots", "full"]),
  ),
  data=st.builds(Data, batch_size=wholes),
  optimizer=st.builds(Optimizer, learning_rate=above_0, bias_correction=st.booleans()),
  schedule=st.builds(Schedule, decay=st.sampled_from(get_args(Decay))),
  mesh=st.builds(MeshShape, data=st.one_of(st.none(), wholes)),
  run=st.one_of(st.builds(Run, steps=wholes), st.builds(Run, epochs=above_0)),
)


@given(experiments)
def test_a_saved_config_gives_the_experiment_back(experiment):
  again = from_dict(json.loads(to_json(experiment)), BASE)
  assert again == experiment
  assert repr(again) == repr(experiment)  # types too: 1 is not 1.0 nor True
  assert not differences(json.loads(to_json(experiment)), to_dict(again))


def assignments(group, other, place=""):
  """What makes a group another one, as a person would write it."""
  for field in dataclasses.fields(group):
    name, value = place + field.name, getattr(other, field.name)
    if field.init and dataclasses.is_dataclass(value):
      yield from assignments(getattr(group, field.name), value, f"{name}.")
    elif field.init:
      yield f"{name}={value if isinstance(value, str | Path) else as_json(value)}"


def as_json(value):
  return json.dumps(value, default=dataclasses.asdict)


@given(experiments, st.randoms())
def test_overriding_every_field_makes_any_experiment(experiment, random):
  kind = type(experiment.model)
  named = next(name for name, size in SIZES.items() if type(size) is kind)
  system = [] if kind is type(BASE.model) else [f"model={named}"]
  given_ones = list(assignments(override(BASE, system), experiment))
  random.shuffle(given_ones)  # fields that depend on each other come in any order
  again = override(BASE, [*system, *given_ones])
  assert again == experiment
  assert repr(again) == repr(experiment)


@given(experiments, experiments)
def test_differences_are_what_has_to_be_overridden(one, other):
  there, here = to_dict(one), to_dict(other)
  found = differences(there, here)
  assert len(found) == len(set(found))
  assert bool(found) == (there != here)
  assert all(line.endswith(" here") and " there, " in line for line in found)


@pytest.mark.parametrize(
  ("assignment", "value"),
  [
    ("task.flag=TRUE", True),
    ("task.count=-1_000", -1000),
    ("task.rate=2e-5", 2e-5),
    ("task.rate=2", 2.0),
    ("task.either=2", 2),
    ("task.either=2.0", 2.0),
    ("task.either=None", None),
    ("task.text=none", None),
    ("task.text=", ""),
    ("task.name=null", "null"),
    ("task.name=a=b", "a=b"),
    ("task.mode=none", "none"),
    ("task.mode=null", None),
    ("task.mode=2", 2),
    ("task.sizes=1, 2", (1, 2)),
    ("task.sizes=[1, 2]", (1, 2)),
    ("task.sizes=", ()),
    ("task.pair=b,2", ("b", 2.0)),
    ("task.scales=1,null,3", (1.0, None, 3.0)),
    ("task.second=null", None),
    (" task.second.share = 0.25 ", Masking(0.25)),
    ("task.masking.kinds=word", Masking(kinds=("word",))),
  ],
)
def test_values_as_people_write_them(assignment, value):
  name = assignment.strip().split("=")[0].split(".")[1]
  found = getattr(override(BASE, [assignment]).task, name.strip())
  assert found == value
  assert type(found) is type(value)


FAULTS = {
  "learning_rate=1": (
    "learning_rate: no such field; expected another, perhaps optimizer.learning_rate"
  ),
  "optimizer.lr=1": (
    "optimizer.lr: no such field; expected another, perhaps optimizer.learning_rate"
  ),
  "optimiser.beta1=1": "optimiser.beta1: no such field; expected another, perhaps optimizer.beta1",
  "data.seed=1": "data.seed: no such field; expected another, perhaps run.seed",
  "task.masking.shar=1": (
    "task.masking.shar: no such field; expected another, perhaps task.masking.share"
  ),
  "qqq=1": (
    "qqq: no such field; expected a field of model, task, running, data, optimizer, schedule, mesh,"
    " run"
  ),
  "task.method=1": "task.method: no such field",
  "task.length=1": "task.length: no such field",
  "task.count.real=1": "task.count.real: no such field",
  "task.__class__=1": "task.__class__: no such field",
  "task.class=a:b": "task.class: no such field",
  "run.steps": "run.steps: no '='; expected FIELD=VALUE, such as run.seed=1",
  "run=1": "run: a group of fields; expected one of run.steps, run.epochs, run.minutes, run.seed,",
  "run=null": "run: a group of fields; expected one of run.steps",
  "task.second=1": "task.second: a group of fields; expected one of task.second.share",
  "model=luke-larg": "model: 'luke-larg'; expected one of luke-base, ",
  "run.steps=1.5": "run.steps: '1.5'; expected a whole number or null",
  "run.steps=0": "run.steps: 0; expected a whole number from 1 to 2147483647",
  "task.count=": "task.count: ''; expected a whole number",
  "task.rate=nan": "task.rate: 'nan'; expected a number",
  "task.rate=inf": "task.rate: 'inf'; expected a number",
  "task.flag=1": "task.flag: '1'; expected true or false",
  "task.mode=slow": "task.mode: 'slow'; expected one of fast, none, 2 or null",
  "task.sizes=1,a": "task.sizes: '1,a'; expected a list, each a whole number",
  "task.sizes=[1, 2.5]": "task.sizes: '[1, 2.5]'; expected a list, each a whole number",
  "task.sizes=[1": "task.sizes: '[1'; expected a list, each a whole number",
  "task.pair=a": "task.pair: 'a'; expected a list of a text, a number",
  "task.masking.share=2": "task.masking.share: 2.0; expected a number from 0 to 1",
  "model.hidden_size=63": "model.hidden_size: 63; expected a multiple of num_attention_heads, 2",
  "running.dtype=float16": "running.dtype: 'float16'; expected one of float32, bfloat16",
  "running.attention=flash": "running.attention: 'flash'; expected one of einsum, blocks, pallas, ",
  "running=bfloat16": "running: a group of fields; expected one of running.dtype, ",
  "model.dtype=bfloat16": "model.dtype: no such field; expected another, perhaps running.dtype",
  "model.remat=full": "model.remat: no such field; expected another, perhaps running.remat",
  "mesh.data=0": "mesh.data: 0; expected a whole number from 1",
  "optimizer.beta1=2": "optimizer.beta1: 2.0; expected a number from 0 to below 1",
}


@pytest.mark.parametrize("assignment", FAULTS)
def test_faults_of_the_command_line(assignment):
  with pytest.raises(InputError) as fault:
    override(BASE, [assignment])
  assert str(fault.value).startswith(FAULTS[assignment])
  assert "\n" not in str(fault.value)


@given(st.text())
def test_no_text_is_anything_but_a_change_or_a_fault(text):
  for assignment in (
    text,
    *(f"task.{field.name}={text}" for field in dataclasses.fields(EveryKind)),
  ):
    try:
      override(BASE, [assignment])
    except InputError as fault:
      assert ";" in str(fault)


def test_of_two_for_a_field_the_last_wins():
  assert override(BASE, ["run.seed=1", "run.seed=2"]).run.seed == 2
  assert override(BASE, ["task.second.share=0.1", "task.second=null"]).task.second is None
  assert override(BASE, ["task.second=null", "task.second.share=0.1"]).task.second == Masking(0.1)
  sized = override(BASE, ["model.hidden_size=128", "model=luke-large", "model.num_hidden_layers=2"])
  assert (sized.model.hidden_size, sized.model.num_hidden_layers) == (1024, 2)


@pytest.mark.parametrize("name", SIZES)
def test_a_named_size_of_any_system_says_nothing_of_how_it_runs_nor_of_the_task(name):
  """Where a system was before, its fields are gone, and what was set of it before its name."""
  running = Running("bfloat16", "einsum", "dots")
  for before in (SIZES["tiny"], SIZES["bert-base"]):
    given_one = dataclasses.replace(BASE, model=before, running=running)
    found = override(given_one, ["model.hidden_dropout_prob=0.5", f"model={name}"])
    assert found == dataclasses.replace(given_one, model=SIZES[name])
    assert type(found.model) is type(SIZES[name])


def test_fields_of_a_system_are_known_once_it_is_named():
  assert override(BASE, ["model=bert-base", "model.hidden_act=relu"]).model.hidden_act == "relu"
  running = override(BASE, ["running.remat=full", "model=roberta-base"]).running
  assert running == Running(remat="full")
  with pytest.raises(InputError, match=r"^model\.entity_vocab_size: no such field; expected"):
    override(BASE, ["model=bert-base", "model.entity_vocab_size=7"])
  with pytest.raises(InputError, match=r"^model\.hidden_act: 'prelu'; expected one of gelu,"):
    override(BASE, ["model=bert-base", "model=tiny", "model.hidden_act=prelu"])


def saved(**changes):
  return json.loads(to_json(BASE)) | changes


@pytest.mark.parametrize("task", [AlignedPretraining(), UnitPretraining()])
def test_a_task_that_has_moved_is_found_under_the_name_that_a_run_has(task):
  there = to_dict(dataclasses.replace(BASE, task=task))
  room = {"ernie_thu": "aligned", "ernie_baidu": "unit"}[type(task).__module__.split(".")[2]]
  name = type(task).__name__
  there["task"]["class"] = f"luke_jax.tasks.{room}_pretraining:{name}"
  assert from_dict(there).task == task


@pytest.mark.parametrize(
  ("data", "fault"),
  [
    ([], "task.class: missing; expected"),
    ({}, "task.class: missing; expected"),
    (saved(task={"folder": "x"}), "task.class: missing; expected"),
    (saved(task={"class": 3}), "task.class: missing; expected"),
    (saved(optimizer={"lr": 1}), "optimizer.lr: no such field; expected one of learning_rate"),
    (saved(optimiser={}), "optimiser: no such field; expected one of model, task"),
    (saved(run={"steps": "3"}), "run.steps: '3'; expected a whole number or null"),
    (saved(run={"steps": True}), "run.steps: True; expected a whole number or null"),
    (saved(run={"steps": -1}), "run.steps: -1; expected"),
    (saved(run=3), "run: 3; expected the fields of Run"),
    (saved(mesh={"fsdp": "some"}), "mesh.fsdp: 'some'; expected one of all, entities, none"),
    (
      saved(model={"family": "luke", "hidden_size": 63}),
      "model.hidden_size: 63; expected a multiple of",
    ),
    ({"task": saved()["task"]}, "model.family: missing; expected the model's system, such as luke"),
    (saved(model={"hidden_size": 64}), "model.family: missing; expected the model's system"),
    (saved(model={"family": ["luke"]}), "model.family: missing; expected the model's system"),
    (saved(model={"family": "elmo"}), "system 'elmo': unknown; expected one of luke, bert, "),
    (saved(model={"family": "bert", "entity_vocab_size": 1}), "model.entity_vocab_size: no such"),
    (saved(running={"dtype": "float16"}), "running.dtype: 'float16'; expected one of float32, bf"),
    (saved(running={"mesh": 1}), "running.mesh: no such field; expected one of dtype, attention"),
  ],
)
def test_faults_of_a_saved_config(data, fault):
  with pytest.raises(InputError) as found:
    from_dict(data, BASE)
  assert str(found.value).startswith(fault)


@pytest.mark.parametrize(
  ("task", "fault"),
  [
    ({}, "task.folder: missing; expected a path"),
    (
      {"folder": "x", "rounds": [{"share": 2}]},
      "task.rounds[0].share: 2.0; expected a number from",
    ),
    ({"folder": "x", "second": {"share": "a"}}, "task.second.share: 'a'; expected a number"),
    ({"folder": "x", "pair": ["a"]}, "task.pair: ['a']; expected a list of a text, a number"),
    ({"folder": "x", "rate": 10**400}, "task.rate: 1000"),
    ({"folder": "x", "length": 3}, "task.length: no such field"),
  ],
)
def test_faults_of_a_saved_task(task, fault):
  name = to_dict(BASE)["task"]["class"]
  with pytest.raises(InputError) as found:
    from_dict(saved(task={"class": name} | task), BASE)
  assert str(found.value).startswith(fault)


@pytest.mark.parametrize(
  "name",
  [
    "os:system",
    "subprocess:Popen",
    "luke_jax:load",
    "luke_jaxx.tasks:Task",
    "luke_jax.__main__:main",
    "luke_jax.tasks..synthetic:SyntheticPretraining",
    "luke_jax.tasks.synthetic:np",
    "luke_jax.tasks.synthetic:dataclasses",
    "luke_jax.training.experiment:Running",
    "luke_jax.tasks.none:Task",
    "luke_jax.tasks.synthetic",
    "luke_jax.errors:InputError",
    ":",
    "",
  ],
)
def test_a_saved_config_runs_no_code(name):
  with pytest.raises(InputError, match=r"^task\.class: '.*'; expected a task of luke_jax"):
    from_dict(saved(task={"class": name}), BASE)


def test_a_task_of_this_package_needs_no_class():
  experiment = Experiment(SIZES["tiny"], SyntheticPretraining(pages=7))
  assert from_dict(json.loads(to_json(experiment))) == experiment
  with pytest.raises(InputError, match=r"expected a task of luke_jax$"):
    from_dict(to_dict(BASE))


TRAINED = [x for x in systems() if x.name != "gliner"]  # whose sizes hold those of another


@pytest.mark.parametrize("system", TRAINED, ids=[system.name for system in TRAINED])
def test_a_saved_experiment_of_any_system_reads_back_equal(system):
  for model in (
    *(x for x in SIZES.values() if type(x) is system),
    small(system, tie_word_embeddings=False),
  ):
    experiment = Experiment(model, SyntheticPretraining(), running=Running("bfloat16", "pallas"))
    data = json.loads(to_json(experiment))
    assert data["model"]["family"] == system.name
    assert data["running"] == {"dtype": "bfloat16", "attention": "pallas", "remat": "none"}
    again = from_dict(data)
    assert again == experiment
    assert type(again.model) is type(model)


def test_differences():
  changed = override(
    BASE, ["optimizer.learning_rate=2e-5", "task.second=null", "running.remat=dots"]
  )
  assert differences(to_dict(BASE), to_dict(changed)) == [
    "task.second: missing there, null here",
    'running.remat: "none" there, "dots" here',
    "optimizer.learning_rate: 1e-05 there, 2e-05 here",
    "task.second.share: 0.5 there, missing here",
    'task.second.kinds: ["word", "entity"] there, missing here',
  ]


def test_describe_shows_every_field_and_marks_what_differs():
  changes = ["optimizer.learning_rate=2e-5", "task.masking.share=0.3", "running.attention=pallas"]
  experiment = override(BASE, changes)
  lines = describe(experiment).splitlines()
  assert 'model.family                        "luke"' in lines
  assert 'running.attention                   "pallas"  (default "blocks")' in lines
  assert "optimizer.learning_rate             2e-05  (default 1e-05)" in lines
  assert "task.masking.share                  0.3  (default 0.15)" in lines
  assert 'task.folder                         "data"' in lines
  assert "run.steps                           null" in lines
  assert not any("default" in line for line in lines if line.startswith(("run.", "mesh.")))
