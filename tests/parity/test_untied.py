"""Decoders that transformers trained apart from the embeddings: read, and written back."""

import numpy as np
import parity_models
import pytest
from parity.test_bert import inputs, outputs_of, reference
from safetensors.numpy import load_file
from tiny import same_params

import luke_jax

pytestmark = pytest.mark.parity
CLASSES = ("BertForPreTraining", "RobertaForMaskedLM", "ErnieForMaskedLM", "LukeForMaskedLM")


def trained_apart(name):
  """A model after some steps of transformers' own training, in which nothing was tied."""
  import torch
  import transformers

  if name == "LukeForMaskedLM":
    torch.manual_seed(0)
    config = parity_models.tiny_config(tie_word_embeddings=False)
    model = transformers.LukeForMaskedLM(config)
    batch = parity_models.make_inputs(name, config, parity_models.Shape())
  else:
    config = reference(name).config
    config.tie_word_embeddings = False
    model = getattr(transformers, name)(config)
    batch = {key: torch.tensor(x) for key, x in inputs(name, config.pad_token_id).items()}
    batch["labels"] = torch.randint(3, 40, batch["input_ids"].shape)
    if name == "BertForPreTraining":
      batch["next_sentence_label"] = torch.tensor([0, 1, 1])
  steps = torch.optim.AdamW(model.parameters(), 0.01)
  for _ in range(20):
    model(**batch).loss.backward()
    steps.step()
    steps.zero_grad()
  labels = ("labels", "entity_labels", "next_sentence_label")
  return model.eval(), {key: x.numpy() for key, x in batch.items() if key not in labels}


@pytest.mark.parametrize("name", CLASSES)
def test_what_was_trained_apart_is_read_and_written(tmp_path, name):
  import transformers

  theirs, arrays = trained_apart(name)
  theirs.save_pretrained(tmp_path / "theirs")
  tensors = load_file(tmp_path / "theirs" / "model.safetensors")
  model = luke_jax.load(tmp_path / "theirs")
  own = {x for x in tensors if "decoder" in x}
  assert set(model.report.apart) == own and not model.report.unexpected
  # Version 4 unties the words' decoder alone.
  version = int(transformers.__version__.partition(".")[0])
  assert len(own) == (1 if version < 5 else 2 + (name == "LukeForMaskedLM"))
  expected = outputs_of(theirs, arrays)
  model.save(tmp_path / "ours")
  again = luke_jax.load(tmp_path / "ours")
  assert same_params(again.params, model.params) and again.config == model.config
  back = getattr(transformers, name).from_pretrained(tmp_path / "ours", attn_implementation="eager")
  assert not back.config.tie_word_embeddings
  for found in (model(**arrays), again(**arrays), outputs_of(back, arrays)):
    for output in ("logits", "entity_logits", "next_sentence_logits"):
      if output in expected:
        np.testing.assert_allclose(found[output], expected[output], atol=1e-5, err_msg=output)
