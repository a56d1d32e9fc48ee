"""Predictions against the usual loop over sentences with transformers."""

import numpy as np
import pytest
from tiny import tiny_model

import luke_jax
from luke_jax.inference.predicting import predictions
from luke_jax.inference.settings import task_of

pytestmark = pytest.mark.parity

TEXT = (
  "Ana Ivanovic's coach said (on Thursday) she could hardly believe it... Top seed, Tokyo? "
  "Beyoncé lives in Los Angeles! It is a long way from the U.S. to Köln, as they say there."
)


def loop(transformers, torch, directory, example):
  """Every sentence alone with all of its spans, and of those that overlap the best."""
  task = "entity_span_classification"
  tokenizer = transformers.LukeTokenizer.from_pretrained(directory, task=task)
  model = transformers.LukeForEntitySpanClassification.from_pretrained(directory).eval()
  found = []
  for words in example.sentences:
    start = words[0][0]
    spans = [
      (words[first][0] - start, words[last][1] - start)
      for first in range(len(words))
      for last in range(first, min(first + 16, len(words)))
    ]
    text = example.text[start : words[-1][1]]
    inputs = tokenizer([text], entity_spans=[spans], return_tensors="pt")
    with torch.no_grad():
      logits = model(**inputs).logits[0].numpy()
    taken = np.zeros(len(text), bool)
    for i in np.argsort(-logits.max(-1), kind="stable"):
      if logits[i].argmax() and not taken[slice(*spans[i])].any():
        taken[slice(*spans[i])] = True
        score = np.exp(logits[i].max()) / np.exp(logits[i]).sum()
        found.append((spans[i][0] + start, spans[i][1] + start, int(logits[i].argmax()), score))
  return sorted(found)


def test_the_loop_over_sentences(tmp_path):
  transformers, torch = pytest.importorskip("transformers"), pytest.importorskip("torch")
  made = tiny_model("LukeForEntitySpanClassification", max_position_embeddings=130)
  made.save(tmp_path)
  model = luke_jax.load(tmp_path)
  task = task_of(model, context=False, entities=1000)
  example = task.parse({"text": TEXT}, "1", "here")
  assert len(example.sentences) >= 3
  ((_, spans),) = predictions(model, task, [example])
  expected = loop(transformers, torch, tmp_path, example)
  assert len(expected) > 5
  assert [(x.start, x.end, model.labels.index(x.label)) for x in spans] == [x[:3] for x in expected]
  np.testing.assert_allclose([x.score for x in spans], [x[3] for x in expected], atol=1e-5)
