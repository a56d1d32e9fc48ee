"""Classifiers of texts and of words predict what transformers predicts from the same directories."""

import dataclasses
import shutil

import jax
import numpy as np
import pytest
import torch
import transformers
from networks import network
from systems import small
from tiny import LABELS, TEXTS, tiny_model

import luke_jax
from luke_jax.inference.settings import settings_of
from luke_jax.model import Model
from luke_jax.models.bert import BERT, ROBERTA, XLM_ROBERTA
from luke_jax.models.network import abstract_params
from luke_jax.tasks.classification.task import TextClassification
from luke_jax.text import load_tokenizer

pytestmark = [
  pytest.mark.parity,
  pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]
SYSTEMS = {"bert": (BERT, "word_piece"), "roberta": (ROBERTA, "byte_level")}
SYSTEMS["xlm_roberta"] = (XLM_ROBERTA, "sentence_piece")
SAID = ["Beyoncé lives in Los Angeles", "She could hardly believe her luck"]


def made(name, kind, labels):
  """A model of a system with random parameters."""
  if name == "luke":
    model = tiny_model(f"Luke{kind}")
    return dataclasses.replace(model, labels=labels)
  family, words = SYSTEMS[name]
  tokenizer = load_tokenizer(TEXTS / words, markers=False)
  sizes = {"vocab_size": tokenizer.vocab_size, "pad_token_id": tokenizer.special.pad}
  config = small(family, max_position_embeddings=66, **sizes)
  net = network(family.architectures["text" if "Sequence" in kind else "token"], config, labels=3)
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
