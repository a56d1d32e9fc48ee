import pytest

from luke_jax.errors import InputError
from luke_jax.formats.files import Faults
from luke_jax.tasks.known import task_class
from luke_jax.tasks.label_checks import checked_to_score
from luke_jax.tasks.running import checked

TEXT = "Ana saw Bo ."
SPANS = [[0, 3, "PER"], [8, 10, "ROBOT"]]
PAIR = {"head": [0, 3], "tail": [8, 10]}
TAGS = ("O", "B-PER", "I-PER")


@pytest.mark.parametrize(
  ("name", "settings", "answer"),
  [
    ("ner", {"labels": ("NIL", "PER")}, {"spans": SPANS}),
    ("tagging", {"labels": TAGS}, {"spans": SPANS}),
    ("tagging", {"labels": ("O", "S-PER", "B-PER", "I-PER", "E-PER")}, {"spans": SPANS}),
    ("relations", {"labels": ("no_relation", "knows")}, {**PAIR, "label": "ROBOT"}),
    ("typing", {"labels": ("PER",)}, {"span": [8, 10], "labels": ["PER", "ROBOT"]}),
    ("classification", {"labels": ("a", "b")}, {"label": "ROBOT"}),
    ("classification", {"labels": ("a", "b"), "target": "labels"}, {"labels": ["a", "ROBOT"]}),
  ],
)
def test_an_example_with_an_unknown_label_can_be_scored(name, settings, answer):
  task = task_class(name)(**settings)
  examples = [task.parse({"text": TEXT, **answer}, id, "here") for id in "12"]
  assert checked_to_score(task, examples, Faults()) == (examples, ["ROBOT"])
  with pytest.raises(InputError, match="label 'ROBOT': not among the model's"):
    checked(task, examples, Faults())


def test_what_has_no_answer_cannot_be_scored():
  task = task_class("ner")(labels=("NIL", "PER"))
  wrong = [{}, {"spans": [[0, 3, "ROBOT"], [8, 10, "NIL"]]}, {"spans": SPANS[:1]}]
  examples = [task.parse({"text": TEXT, **x}, "1", "here") for x in wrong]
  faults = Faults(skip=True)
  assert checked_to_score(task, examples, faults) == (examples[2:], [])
  assert list(map(str, faults.found)) == [
    "here: no spans; expected those of the entities, or tags",
    "here: label 'NIL': not among the model's 2; expected one of PER, ROBOT",
  ]


def test_a_task_without_labels_says_where_they_belong():
  task = task_class("ner")()
  examples = [task.parse({"text": TEXT, "spans": SPANS}, "1", "here")]
  with pytest.raises(InputError, match="label 'PER': of a task without labels; expected"):
    checked(task, examples, Faults())
