"""Chinese names, from a file to a picture, in characters of the text as it was written."""

import html
import re

import jax
import pytest
from marked_tasks import with_labels, written
from tiny_runs import trained

import luke_jax
from luke_jax import show
from luke_jax.inference.settings import trained_model
from luke_jax.model import Model
from luke_jax.pipeline.batches import Data
from luke_jax.systems.ernie_baidu import ErnieBaiduConfig
from luke_jax.tasks.tagging.task import Tagging
from luke_jax.training.experiment import Experiment
from luke_jax.training.mesh import make_mesh
from luke_jax.training.optimizer import Optimizer
from luke_jax.training.program import Program, scored

pytestmark = pytest.mark.slow  # a training for two pictures

VOCABULARY = "[PAD] [CLS] [SEP] [MASK] [UNK] 台 湾 北 京 在 去 了 。 j o s e a n u"
READ_AS = "臺\t台\n灣\t湾\n\uff35\tu\n"  # the last is a full-width letter
JOSE = "JOSE\N{COMBINING ACUTE ACCENT}"  # read as one character, its last letter with the accent
PEOPLE, PLACES = (JOSE, "Ana", "\uff35"), ("臺灣", "北京")
SIZES = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
SIZES |= {"intermediate_size": 64, "max_position_embeddings": 32}


def example(person, verb, place):
  text = f"{person}{verb}{place}。"
  end = len(person)
  return {"text": text, "spans": [[0, end, "PER"], [end + 1, len(text) - 1, "LOC"]]}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
  """A model that learned nine of twelve sentences, saved and loaded."""
  folder = tmp_path_factory.mktemp("zh")
  (folder / "vocab.txt").write_text(VOCABULARY.replace(" ", "\n"), encoding="utf-8")
  (folder / "characters.tsv").write_text(READ_AS, encoding="utf-8")
  seen = [(a, b, c) for a in PEOPLE for b in "在去" for c in PLACES]
  train = written(folder / "train.jsonl", [example(*words) for words in seen[3:]])
  task = with_labels(
    Tagging(text=str(folder), train=str(train), words=16, language="zh", characters=True)
  )
  config = ErnieBaiduConfig(vocab_size=len(VOCABULARY.split()), **SIZES)
  optimizer = Optimizer(learning_rate=1e-2)
  chosen = Experiment(model=config, task=task, data=Data(batch_size=8), optimizer=optimizer)
  program = Program(chosen, make_mesh(chosen.mesh, jax.devices()[:1]), 40)
  state, _ = trained(program, program.fresh_state(), 40)
  network = task.network(chosen.backbone)
  saved = folder / "model"
  Model.of(trained_model(task, network, jax.device_get(scored(state)))).save(saved)
  return luke_jax.load(saved)


@pytest.mark.parametrize("words", [(JOSE, "在", "臺灣"), (JOSE, "去", "臺灣")])
def test_names_are_characters_of_the_text(model, words):
  person, _, place = words
  text = example(*words)["text"]
  found = [(x.start, x.end, x.text, x.label) for x in model.predict(text)]
  first = len(text) - 1 - len(place)
  assert found == [(0, len(person), person, "PER"), (first, len(text) - 1, place, "LOC")]


def test_a_picture_has_the_text_as_it_was(model):
  text = example("\uff35", "去", "臺灣")["text"]
  body = show.entities(text, model.predict(text)).body
  plain = html.unescape(re.sub("<.*?>", "", body)).replace("\xa0", " ")
  assert plain == "\uff35 PER 去臺灣 LOC 。"
