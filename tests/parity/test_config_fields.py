"""Fields of transformers' configs: each is read, has one value here, or changes no number."""

import dataclasses
import json

import numpy as np
import pytest
from parity.test_bert import inputs, outputs_of, reference

import luke_jax
from luke_jax.errors import InputError
from luke_jax.systems.bert import BertConfig, RobertaConfig, XlmRobertaConfig
from luke_jax.systems.deberta import DebertaConfig
from luke_jax.systems.distilbert import DistilBertConfig
from luke_jax.systems.electra import ElectraConfig
from luke_jax.systems.ernie_baidu import ErnieBaiduConfig
from luke_jax.systems.luke import LukeConfig

pytestmark = pytest.mark.parity
SYSTEMS = [(BertConfig, "Bert"), (RobertaConfig, "Roberta"), (XlmRobertaConfig, "XLMRoberta")]
SYSTEMS += [(ErnieBaiduConfig, "Ernie"), (LukeConfig, "Luke")]
SYSTEMS += [(DistilBertConfig, "DistilBert"), (ElectraConfig, "Electra")]
SYSTEMS += [(DebertaConfig, "DebertaV2")]
READ = {"architectures", "model_type", "id2label", "label2id", "num_labels"}
READ |= {"legacy", "pooler_hidden_size"}
# Of the loss, of what is returned beside the numbers, of the form of files, of text and of speed.
CHANGES_NOTHING = READ | {
  *("problem_type", "output_attentions", "output_hidden_states", "return_dict"),
  *("dtype", "torch_dtype", "transformers_version", "bos_token_id", "eos_token_id"),
  *("use_cache", "chunk_size_feed_forward", "task_type_vocab_size"),
  "sinusoidal_pos_embds",  # how a table began that files hold as any other
}
# What version 4 has for models that write texts, and for forms of files that are no more.
OF_VERSION_4 = {"tie_encoder_decoder", "cross_attention_hidden_size", "torchscript", "use_bfloat16"}
OF_VERSION_4 |= {"finetuning_task", "task_specific_params", "tf_legacy_loss", "tokenizer_class"}
OF_VERSION_4 |= {"prefix", "sep_token_id", "decoder_start_token_id"}


@pytest.mark.parametrize(("system", "name"), SYSTEMS, ids=[name for _, name in SYSTEMS])
def test_every_field_of_transformers_is_known(system, name):
  import transformers

  made = getattr(transformers, f"{name}Config")()
  names = {name for name in {**made.to_dict(), **vars(made)} if not name.startswith("_")}
  generation = transformers.GenerationConfig().to_dict()
  known = {field.name for field in dataclasses.fields(system)} | {*system.field_names.values()}
  unknown = names - known - system.fixed.keys() - CHANGES_NOTHING - OF_VERSION_4
  assert not unknown - generation.keys()


def test_feeding_forward_in_chunks_changes_no_number(tmp_path):
  theirs = reference("BertModel")
  theirs.config.chunk_size_feed_forward = 3
  theirs = type(theirs).from_pretrained(None, config=theirs.config, state_dict=theirs.state_dict())
  theirs.eval().save_pretrained(tmp_path)
  assert json.loads((tmp_path / "config.json").read_text())["chunk_size_feed_forward"] == 3
  arrays, model = inputs("BertModel", 0), luke_jax.load(tmp_path)
  for name, value in outputs_of(theirs, arrays).items():
    np.testing.assert_allclose(model(**arrays)[name], value, atol=1e-5)


@pytest.mark.parametrize("name", ["BertLMHeadModel", "RobertaForCausalLM"])
def test_a_decoder_as_an_encoder(tmp_path, name):
  import transformers

  made = reference("BertForMaskedLM" if name.startswith("Bert") else "RobertaForMaskedLM")
  made.config.is_decoder = True
  theirs = getattr(transformers, name)(made.config)
  theirs.load_state_dict(made.state_dict())
  theirs.save_pretrained(tmp_path)
  with pytest.raises(InputError, match="is_decoder: true; expected false"):
    luke_jax.load(tmp_path)
  model = luke_jax.load(tmp_path, as_encoder=True)
  assert str(model.report) == "every tensor found its place"
  both_ways = type(made).from_pretrained(tmp_path, is_decoder=False).eval()
  arrays = inputs(name, model.config.pad_token_id)
  expected = outputs_of(both_ways, arrays)["logits"]
  np.testing.assert_allclose(model(**arrays)["logits"], expected, atol=1e-5)
