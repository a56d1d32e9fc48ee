"""Texts with attributes: their files, the values that a model knows, and those it does not."""

import dataclasses
import json
import warnings

import jax
import numpy as np
import pytest
from marked_tasks import TEXT, experiment, random_bert, with_labels
from safetensors.numpy import load_file, save_file
from tiny import same_params

import luke_jax
from luke_jax.convert.saving import save
from luke_jax.errors import InputError
from luke_jax.formats.files import Faults
from luke_jax.heads.attributes import Attributes
from luke_jax.inference.settings import trained_model
from luke_jax.model import Model
from luke_jax.models.system import Backbone
from luke_jax.tasks.classification.files import read
from luke_jax.tasks.classification.task import TextClassification
from luke_jax.tasks.running import processor_for

NAMES = ("user", "product")
REVIEWS = (
  "u1\t\tp1\t\t4\t\tThe room was *small* . <sssss> we do n't mind !\n"
  "u2\t\tp1\t\t1\t\tnever again\n"
  "u1\t\tp2\t\t4\t\tfine\n"
)


def file(folder, name, text):
  path = folder / name
  path.write_text(text, encoding="utf-8")
  return path


def plain(path, columns=(), attributes=NAMES):
  """What a file says, without places."""
  found = read(path, Faults(), columns, attributes=attributes)
  return [(x.text, x.labels, x.attributes) for x in found]


def test_reviews_are_read_and_cleaned(tmp_path):
  path = file(tmp_path, "a.ss", REVIEWS)
  first, *_ = plain(path)
  assert first == ("the room was small . we don't mind !", ("4",), ("u1", "p1"))
  assert plain(path, attributes=("product",))[1] == ("never again", ("1",), ("p1",))
  assert plain(path, attributes=())[2] == ("fine", ("4",), ())


def test_reviews_of_which_nothing_is_left_are_counted(tmp_path):
  path = file(tmp_path, "a.ss", f"{REVIEWS}u3\t\tp1\t\t5\t\t很好\n")
  with pytest.warns(match=r"a\.ss: nothing is left of 1 of 4 reviews, since those of \.ss are"):
    assert plain(path)[3] == ("", ("5",), ("u3", "p1"))


def test_objects_and_tables_have_any_attributes(tmp_path):
  value = {"text": "a", "label": 1, "shop": "x", "year": 2019}
  expected = [("a", ("1",), ("x", "2019"))]
  objects = file(tmp_path, "a.jsonl", json.dumps(value))
  assert plain(objects, attributes=("shop", "year")) == expected
  table = file(tmp_path, "a.csv", "text,label,shop,year\na,1,x,2019\n")
  assert plain(table, attributes=("shop", "year")) == expected
  renamed = file(tmp_path, "b.csv", "review,stars,where,year,more\na,1,x,2019,-\n")
  columns = ("text=review", "label=stars", "shop=where")
  assert plain(renamed, columns, ("shop", "year")) == expected


@pytest.mark.parametrize(
  ("name", "text", "expected"),
  [
    ("a.ss", "u\t\tp\t\t3\n", "line 1: 3 parts between two tabs; expected user, product, rating"),
    ("a.ss", "\t\tp\t\t3\t\tx\n", "line 1: user: empty; expected a text or a number"),
    ("a.ss", "u\t\tp\t\tgood\t\tx\n", "line 1: rating 'good'; expected a whole number"),
    ("a.jsonl", '{"text": "a", "user": "u"}', "line 1: product: missing; expected its value"),
    (
      "a.jsonl",
      '{"text": "a", "user": "a\\nb", "product": 1}',
      "line 1: user: 'a\\nb'; expected a s",
    ),
    (
      "a.jsonl",
      '{"text": "a", "user": "a", "prodcut": 1}',
      "prodcut: no such field; expected perh",
    ),
    (
      "a.jsonl",
      '{"text": "a", "user": "a", "product": 1, "shop": 2}',
      "shop: no such field; expected one of id, text, tokens, meta, text_pair, label, labels, qid,"
      " user, product, or an attribute of task.attributes.names (in data check and score: of --at",
    ),
    ("a.csv", "text,user,shop\na,b,c\n", "line 1: column 'shop': not known; expected id, text"),
  ],
)
def test_faults_are_named(tmp_path, name, text, expected):
  path = file(tmp_path, name, text)
  with pytest.raises(InputError) as found:
    read(path, Faults(), (), attributes=NAMES)
  assert str(found.value).replace(f"{path}", "FILE").startswith("FILE") and expected in str(
    found.value
  )


@pytest.mark.parametrize(
  ("fields", "expected"),
  [
    ({"names": ("label",)}, "attributes.names: 'label': a field of files; expected another"),
    ({"names": ("a b",)}, "names: 'a b'; expected different names"),
    ({"names": ("a", "a")}, "names: 'a'; expected different names"),
    ({"names": ("a",), "values": ((), ())}, "values: of 2 attributes; expected those of 1"),
    ({"form": "e"}, "form: 'e'; expected one of 'a', 'b', 'c', 'd'"),
    ({"layers": 0}, "layers: 0; expected a whole number from 1"),
  ],
)
def test_settings_that_do_not_fit(fields, expected):
  with pytest.raises(InputError, match=expected):
    TextClassification(attributes=Attributes(**fields))


@pytest.fixture(scope="module")
def task(tmp_path_factory):
  folder = tmp_path_factory.mktemp("reviews")
  train = str(file(folder, "train.ss", REVIEWS))
  attributes = Attributes(NAMES, layers=2, attribute_init="uniform25")
  return with_labels(TextClassification(text=TEXT, train=train, words=16, attributes=attributes))


@pytest.fixture(scope="module")
def model(task):
  return random_bert(task)


def test_values_are_those_of_training_the_most_frequent_first(task):
  assert task.known_attributes.values == (("u1", "u2"), ("p1", "p2"))
  assert task.known_attributes.sizes == (3, 3)


def test_rows_have_numbers_and_new_values_are_named(task):
  processor = processor_for(task, Backbone(experiment(task).model))
  examples = [
    task.parse({"text": "a", "user": user, "product": "p2"}, "1", "text")
    for user in ("u2", "zoe", "<unk>", "zoe", "yan")
  ]
  with pytest.warns(match=r"^user: 2 not seen in training \(zoe, yan\), of 3 of 5 texts") as found:
    rows = task.features(processor, examples)
  assert len(found) == 1
  assert [row.extra["attribute_ids"].tolist() for row in rows] == [
    [2, 2],
    [0, 2],
    [0, 2],
    [0, 2],
    [0, 2],
  ]


def scores(model, users, text="never again"):
  fields = {"user": users, "product": ["p1"] * len(users)}
  return [x.scores for x in model.predict([text] * len(users), **fields)]


def test_a_model_keeps_its_values_as_text_beside_it(tmp_path, model):
  model.save(tmp_path)
  assert (tmp_path / "attribute-user.txt").read_text() == "<unk>\nu1\nu2\n"
  back = luke_jax.load(tmp_path)
  assert same_params(back.params, model.params) and back.network.head == model.network.head
  with warnings.catch_warnings():
    warnings.simplefilter("error")
    one, two, unknown = scores(model, ["u1", "u2", "<unk>"])
    assert scores(back, ["u1", "u2", "<unk>"]) == [one, two, unknown]
  assert one != two != unknown
  with pytest.warns(match=r"user: 1 not seen in training \(zoe\)"):
    # A batch of one may be rounded otherwise than one of three.
    assert scores(back, ["zoe"]) == [pytest.approx(unknown, abs=1e-6)]
  with pytest.raises(InputError, match=r"^text: user: missing; expected its value, or <unk>"):
    back.predict("never again", product="p1")


@pytest.mark.parametrize(
  ("name", "text", "expected"),
  [
    ("attribute-user.txt", "<unk>\nu1\nu1\n", "'u1': again on another line; expected each value"),
    ("attribute-user.txt", "<unk>\n\nu2\n", "line 2: empty; expected a value"),
    ("attribute-user.txt", "<unk>\nu1\n", r"usr_embed.weight: shape \(3, 8\); expected \(2, 8\)"),
    ("attribute-user.txt", None, "no such file; expected a value of the attribute on each line"),
    ("config.json", {"names": "user"}, "attributes.names: 'user'; expected a list of names"),
    ("config.json", {"names": ["user"], "from": "d"}, "attributes.from: unknown; expected names"),
    ("config.json", {"names": ["user"], "form": "e"}, "attributes.form: 'e'; expected one of"),
    ("config.json", None, "attributes: None; expected an object with names"),
  ],
)
def test_model_directories_that_are_broken(tmp_path, model, name, text, expected):
  model.save(tmp_path)
  path = tmp_path / name
  if name == "config.json":
    text = json.dumps(json.loads(path.read_text()) | {"attributes": text})
  if text is None:
    path.unlink()
  else:
    path.write_text(text)
  with pytest.raises(InputError, match=expected) as found:
    luke_jax.load(tmp_path)
  assert "\n" not in str(found.value)


def test_inputs_are_checked(model):
  inputs = {"input_ids": np.ones((1, 4), int)}
  for ids, expected in (
    (None, r"attribute_ids: missing; expected \(1, 2\)"),
    ([[1]], r"attribute_ids: shape \(1, 1\); expected \(1, 2\)"),
    ([[1, 3]], "attribute_ids: 3; expected numbers from 0 to 2"),
  ):
    with pytest.raises(InputError, match=expected):
      model(**inputs, attribute_ids=ids)


def as_released(folder, model, unused):
  """Files as the authors have them: BERT's config, no row for unknown values, an unused part."""
  save(model, folder)
  config = json.loads((folder / "config.json").read_text())
  for name in ("attributes", "luke_jax", "architectures", "id2label", "label2id"):
    config.pop(name)
  (folder / "config.json").write_text(json.dumps(config))
  tensors = load_file(folder / "model.safetensors")
  for table, name in (("usr_embed.weight", "user"), ("prd_embed.weight", "product")):
    tensors[table] = tensors[table][1:]
    path = folder / f"attribute-{name}.txt"
    path.write_text(path.read_text().removeprefix("<unk>\n"))
  tensors[unused] = np.zeros((8, 24), np.float32)
  save_file(tensors, folder / "model.safetensors")
  return tensors


@pytest.mark.parametrize("form", "abcd")
def test_files_of_the_authors_are_read_and_written_again(tmp_path, model, task, form):
  attributes = dataclasses.replace(task.known_attributes, form=form, attribute_init="normal")
  task = dataclasses.replace(task, attributes=attributes, labels=("1", "2"))
  rng = np.random.default_rng(1)
  shapes = jax.eval_shape(lambda: task.engine().initial_params(model.backbone, jax.random.key(0)))
  params = jax.tree.map(lambda x: rng.normal(size=x.shape).astype(np.float32) / 2, shapes)
  original = Model.of(trained_model(task, task.network(model.backbone), params))
  decoder = "ATrans_decoder.0.attention.output." if form in "cd" else ""
  unused = f"{decoder}all_dense.weight"
  tensors = as_released(tmp_path, original, unused)
  with pytest.warns(match=f"1 left over .{unused}"):
    back = luke_jax.load(tmp_path)
  assert back.network.head.attributes.form == form and back.labels == ("1", "2")
  if form == "d":  # the others' arrays are compared, without a compilation
    assert scores(back, ["u1", "u2"]) == scores(original, ["u1", "u2"])
  mean = tensors["usr_embed.weight"].mean(0)
  np.testing.assert_allclose(back.params["usr_embed"]["embedding"][0], mean, rtol=1e-6)
  back.save(tmp_path / "again")
  again = load_file(tmp_path / "again" / "model.safetensors")
  for name, tensor in tensors.items():
    if name != unused:
      np.testing.assert_array_equal(again[name][-len(tensor) :], tensor)
  if form in "cd":
    layers = params["attribute_layers"]["layers"]
    stream = "ATrans_decoder.1.attention.atts.2"
    np.testing.assert_array_equal(
      tensors[f"{stream}.query.bilinear_weights"], layers["attention"]["query"]["weights"][1, 2]
    )
    value = layers["attention"]["value"]
    name = "value.bilinear_weights" if form == "d" else "value.weight"
    ours = value["weights"][1, 2] if form == "d" else value["kernel"][1, 2].T
    np.testing.assert_array_equal(tensors[f"{stream}.{name}"], ours)
    output = "ATrans_decoder.0.attention.output"
    np.testing.assert_array_equal(
      tensors[f"{output}.dense.1.weight"], layers["output"]["kernel"][0, 1].T
    )
    joined = layers["combination"]["kernel"][0].reshape(24, 8).T
    np.testing.assert_array_equal(tensors[f"{output}.project.weight"], joined)
