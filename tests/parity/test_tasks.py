"""Directories that transformers wrote predict what transformers' own classes predict."""

import itertools

import numpy as np
import pytest
import torch
import transformers
from parity_models import tiny_config
from tiny import TITLES, tiny_processor

import luke_jax
from luke_jax.text import save_processor

pytestmark = [
  pytest.mark.parity,
  pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]
TEXTS = [
  "Beyoncé lives in Los Angeles",
  "Ana and Bert of Tokyo met in Los Angeles on Thursday",
  "She could hardly believe her luck",
]
CONLL = ("NIL", "MISC", "PER", "ORG", "LOC")


def saved(folder, name, labels):
  """A tiny fine-tuned model as those on the hub are: weights, labels, tokenizer with its task."""
  tasks = {
    "LukeForEntityClassification": "entity_classification",
    "LukeForEntityPairClassification": "entity_pair_classification",
    "LukeForEntitySpanClassification": "entity_span_classification",
  }
  processor = tiny_processor()
  words, entities = processor.tokenizer.vocab_size, len(TITLES)
  sizes = {"vocab_size": words, "entity_vocab_size": entities, "max_position_embeddings": 130}
  config = tiny_config(num_labels=len(labels), **sizes)
  config.id2label = dict(enumerate(labels))
  config.label2id = {label: id for id, label in config.id2label.items()}
  torch.manual_seed(3)
  model = getattr(transformers, name)(config).eval()
  with torch.no_grad():
    for parameter in model.parameters():
      parameter.normal_(0, 0.15)
  model.save_pretrained(folder)
  save_processor(processor, folder)
  tokenizer = transformers.LukeTokenizer.from_pretrained(folder, task=tasks[name])
  return model, tokenizer, luke_jax.load(folder)


def logits(model, inputs):
  with torch.no_grad():
    return model(**inputs).logits.numpy()


def test_typing(tmp_path):
  labels = ("event", "person", "place", "time")
  theirs, tokenizer, ours = saved(tmp_path, "LukeForEntityClassification", labels)
  spans = [(0, 7), (16, 21), (0, 3)]
  for text, span in zip(TEXTS, spans, strict=True):
    expected = logits(theirs, tokenizer(text, entity_spans=[span], return_tensors="pt"))[0]
    found = ours.predict(text, span=span)
    scores = 1 / (1 + np.exp(-expected))
    wanted = sorted(
      ((label, s) for label, x, s in zip(labels, expected, scores, strict=True) if x > 0),
      key=lambda pair: -pair[1],
    )
    assert [one.label for one in found] == [label for label, _ in wanted]
    np.testing.assert_allclose([one.score for one in found], [s for _, s in wanted], atol=1e-4)


def test_relations(tmp_path):
  labels = ("no_relation", "per:cities_of_residence", "per:title")
  theirs, tokenizer, ours = saved(tmp_path, "LukeForEntityPairClassification", labels)
  for text, head, tail in ((TEXTS[0], (0, 7), (17, 28)), (TEXTS[1], (16, 21), (0, 3))):
    inputs = tokenizer(text, entity_spans=[head, tail], return_tensors="pt")
    expected = torch.softmax(torch.tensor(logits(theirs, inputs)[0]), -1).numpy()
    found = ours.predict(text, head=head, tail=tail)
    assert found.label == labels[expected.argmax()]
    np.testing.assert_allclose(found.score, expected.max(), atol=1e-4)


def test_named_entities(tmp_path):
  theirs, tokenizer, ours = saved(tmp_path, "LukeForEntitySpanClassification", CONLL)
  some = 0
  for text in TEXTS:
    places = list(itertools.accumulate([len(w) + 1 for w in text.split()], initial=0))
    words = [(start, next_ - 1) for start, next_ in itertools.pairwise(places)]
    spans = [(a, b) for i, (a, _) in enumerate(words) for _, b in words[i : i + 16]]
    expected = logits(theirs, tokenizer(text, entity_spans=spans, return_tensors="pt"))[0]
    found = ours.predict(text)
    assert [one[1:4] for one in found] == greedy(spans, expected)
    assert all(text[one.start : one.end] == one.text for one in found)
    some += len(found)
  assert some


def greedy(spans, expected):
  """The best spans first, as long as they do not overlap."""
  taken: list[tuple[int, int, str]] = []
  for i in np.argsort(-expected.max(-1), kind="stable"):
    start, end = spans[i]
    if expected[i].argmax() and all(end <= a or b <= start for a, b, _ in taken):
      taken.append((start, end, CONLL[expected[i].argmax()]))
  return sorted(taken)
