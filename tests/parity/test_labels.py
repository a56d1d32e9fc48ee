"""Classifiers of texts and of words predict what transformers predicts from the same files."""

import dataclasses
import shutil

import jax
import numpy as np
import pytest
import torch
import transformers
from networks import network
from safetensors.numpy import load_file
from small_systems import small
from tiny import LABELS, TEXTS, tiny_model

import luke_jax
from luke_jax.heads.kinds import class_names
from luke_jax.inference.settings import processor_of, settings_of
from luke_jax.model import Model
from luke_jax.models.network import abstract_params
from luke_jax.systems.bert import BertConfig, RobertaConfig, XlmRobertaConfig
from luke_jax.systems.distilbert import DistilBertConfig
from luke_jax.systems.electra import ElectraConfig
from luke_jax.tasks.classification.task import TextClassification
from luke_jax.tasks.tagging.task import Tagging
from luke_jax.text import load_tokenizer

pytestmark = [
  pytest.mark.parity,
  pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]
SYSTEMS = {"bert": (BertConfig, "word_piece"), "roberta": (RobertaConfig, "byte_level")}
SYSTEMS["xlm_roberta"] = (XlmRobertaConfig, "sentence_piece")
SYSTEMS |= {
  "distilbert": (DistilBertConfig, "word_piece"),
  "electra": (ElectraConfig, "word_piece"),
}
SAID = ["Beyoncé lives in Los Angeles", "She could hardly believe her luck"]


def made(name, kind, labels):
  """A model of a system with random parameters."""
  if name == "luke":
    model = tiny_model(f"Luke{kind}")
    return dataclasses.replace(model, labels=labels)
  system, words = SYSTEMS[name]
  tokenizer = load_tokenizer(TEXTS / words, markers=False)
  sizes = {"vocab_size": tokenizer.vocab_size, "pad_token_id": tokenizer.special.pad}
  config = small(system, max_position_embeddings=66, **sizes)
  net = network(class_names(system)["text" if "Sequence" in kind else "token"], config, labels=3)
  rng = np.random.default_rng(0)
  params = jax.tree.map(
    lambda x: (0.2 * rng.normal(size=x.shape)).astype(np.float32), abstract_params(net)
  )
  return Model(net, params, labels, tokenizer)


@pytest.mark.parametrize("target", ["label", "labels"])
@pytest.mark.parametrize("name", ["luke", *SYSTEMS])
def test_texts_and_pairs(tmp_path, name, target):
  task = TextClassification(labels=LABELS, target=target)
  model = made(name, "ForSequenceClassification", LABELS)
  dataclasses.replace(model, rest=settings_of(task)).save(tmp_path / "ours")
  theirs = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "ours")
  tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "ours")
  assert theirs.config.problem_type == settings_of(task)["problem_type"]
  shutil.copytree(tmp_path / "ours", tmp_path / "theirs")
  theirs.save_pretrained(tmp_path / "theirs")
  squash = (lambda x: torch.softmax(x, -1)) if target == "label" else torch.sigmoid
  for text, pair in ((SAID[0], None), (SAID[1], SAID[0])):
    with torch.no_grad():
      logits = theirs.eval()(**tokenizer(text, pair, return_tensors="pt")).logits[0]
    fields = {} if pair is None else {"text_pair": [pair]}
    for folder in ("ours", "theirs"):
      (found,) = luke_jax.load(tmp_path / folder).predict([text], **fields)
      scores = [found.scores[label] for label in LABELS]
      np.testing.assert_allclose(scores, squash(logits).numpy(), atol=1e-5)


def test_numbers(tmp_path):
  task = TextClassification(labels=("number",), target="number")
  net = network("BertForSequenceClassification", made("bert", "Sequence", ()).config, labels=1)
  model = made("bert", "ForSequenceClassification", LABELS)
  params = dict(model.params)
  params["classifier"] = jax.tree.map(lambda x: x[..., :1], params["classifier"])
  tokenizer = model.tokenizer
  Model(net, params, ("number",), tokenizer, rest=settings_of(task)).save(tmp_path)
  theirs = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path).eval()
  words = transformers.AutoTokenizer.from_pretrained(tmp_path)
  with torch.no_grad():
    expected = theirs(**words(SAID[0], return_tensors="pt")).logits[0, 0].item()
  assert theirs.config.problem_type == "regression"
  assert luke_jax.load(tmp_path).predict(SAID[0]).value == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("name", ["luke", *SYSTEMS])
def test_tags_of_words(tmp_path, name):
  tags = ("O", "B-PER", "I-PER")
  task = Tagging(labels=tags)
  model = made(name, "ForTokenClassification", tags)
  dataclasses.replace(model, rest=settings_of(task)).save(tmp_path / "ours")
  theirs = transformers.AutoModelForTokenClassification.from_pretrained(tmp_path / "ours").eval()
  shutil.copytree(tmp_path / "ours", tmp_path / "theirs")
  theirs.save_pretrained(tmp_path / "theirs")
  assert [theirs.config.id2label[i] for i in range(3)] == list(tags)
  example = task.parse({"text": SAID[0], "sentences": [[0, len(SAID[0])]]}, "1", "text")
  for folder in ("ours", "theirs"):
    ours = luke_jax.load(tmp_path / folder)
    (row,) = task.features(processor_of(ours, task), [example])
    with torch.no_grad():
      logits = theirs(input_ids=torch.tensor(row.input_ids[None].astype(int))).logits[0]
    expected = torch.softmax(logits[row.source.pieces], -1)
    found = ours.predict(SAID[0])
    assert [tags.index(tag) for tag in found.tags] == expected.argmax(-1).tolist()
    np.testing.assert_allclose(found.scores, expected.max(-1).values.numpy(), atol=1e-5)


def test_a_chain_is_stored_beside_what_transformers_reads(tmp_path):
  tags = ("O", "B-PER", "I-PER")
  plain = made("bert", "ForTokenClassification", tags)
  network_with = network("BertForTokenClassificationWithCrf", plain.config, labels=3)
  rng = np.random.default_rng(1)
  chain = {"transitions": (3, 3), "starts": 3, "ends": 3}
  chain = {name: rng.normal(size=shape).astype(np.float32) for name, shape in chain.items()}
  params = {**plain.params, "crf": chain}
  rest = settings_of(Tagging(labels=tags, crf=True))
  Model(network_with, params, tags, plain.tokenizer, rest=rest).save(tmp_path)
  names = load_file(tmp_path / "model.safetensors")
  np.testing.assert_array_equal(names["crf.transitions"], chain["transitions"])
  np.testing.assert_array_equal(names["crf.end_transitions"], chain["ends"])
  assert "without its chain (`crf`)" in (tmp_path / "README.md").read_text()
  theirs = transformers.BertForTokenClassification.from_pretrained(tmp_path).eval()
  ours = luke_jax.load(tmp_path)
  assert str(ours.report) == "every tensor found its place" and ours.kind == "crf"
  ids = np.array([[2, 30, 31, 32, 3]])
  with torch.no_grad():
    expected = theirs(input_ids=torch.tensor(ids)).logits.numpy()
  np.testing.assert_allclose(ours(input_ids=ids)["logits"], expected, atol=1e-5)
  assert len(ours.predict(SAID[0]).tags) == 5
