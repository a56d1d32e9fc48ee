"""GLiNER's models against the package `gliner`: logits, names and files."""

import json
import random
import warnings

import numpy as np
import pytest

import luke_jax
from luke_jax.errors import InputError

gliner = pytest.importorskip("gliner")

pytestmark = [
  pytest.mark.parity,
  pytest.mark.filterwarnings("ignore::DeprecationWarning"),
  pytest.mark.filterwarnings("ignore::FutureWarning"),
  pytest.mark.filterwarnings("ignore::UserWarning"),
]
WORDS = (
  "Ana Lima sailed the old ship Vega-2 from Porto to New York in 1912 , and never came back . "
  "The prize of the year went to Dr. O'Neil , who wrote a song about rivers ; it's well_known ! "
  "award person place music group politician (born) naïve Zürich 北京 $5 e-mail"
).split()
LABELS = ["award", "person", "place", "ship", "music group"]
SIZES = {
  "hidden_size": 24,
  "num_hidden_layers": 3,
  "num_attention_heads": 2,
  "intermediate_size": 40,
}
MORE = {
  "bert": {"max_position_embeddings": 512},
  "modernbert": {"local_attention": 8, "pad_token_id": 0, "max_position_embeddings": 1024},
  "deberta-v2": {
    "relative_attention": True,
    "position_buckets": 16,
    "norm_rel_ebd": "layer_norm",
    "share_att_key": True,
    "pos_att_type": ["p2c", "c2p"],
    "position_biased_input": False,
    "type_vocab_size": 0,
    "max_position_embeddings": 512,
  },
}
KINDS = [f"{ways}{level}" for ways in ("Bi", "Uni") for level in ("Span", "Token")]


def tokenizer(kind):
  """A small fast tokenizer of the kind that models of a type have."""
  import tokenizers as t
  import transformers

  if kind == "bert":
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    library = t.Tokenizer(t.models.WordPiece(unk_token="[UNK]"))
    library.normalizer = t.normalizers.BertNormalizer()
    library.pre_tokenizer = t.pre_tokenizers.BertPreTokenizer()
    library.decoder = t.decoders.WordPiece()
    trainer = t.trainers.WordPieceTrainer(vocab_size=160, special_tokens=names)
  elif kind == "modernbert":
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    library = t.Tokenizer(t.models.BPE())
    library.pre_tokenizer = t.pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = t.decoders.ByteLevel()
    alphabet = t.pre_tokenizers.ByteLevel.alphabet()
    trainer = t.trainers.BpeTrainer(vocab_size=330, special_tokens=names, initial_alphabet=alphabet)
  else:
    names = ["[PAD]", "[CLS]", "[SEP]", "[UNK]"]
    library = t.Tokenizer(t.models.Unigram())
    library.pre_tokenizer = t.pre_tokenizers.Metaspace()
    library.decoder = t.decoders.Metaspace()
    trainer = t.trainers.UnigramTrainer(
      vocab_size=150, special_tokens=names, unk_token="[UNK]", show_progress=False
    )
  library.train_from_iterator([" ".join(WORDS)] * 3 + WORDS, trainer)
  ids = [(x, library.token_to_id(x)) for x in ("[CLS]", "[SEP]")]
  library.post_processor = t.processors.TemplateProcessing(
    single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=ids
  )
  roles = {"cls": "[CLS]", "sep": "[SEP]", "unk": "[UNK]", "pad": "[PAD]", "mask": "[MASK]"}
  return transformers.PreTrainedTokenizerFast(
    tokenizer_object=library, **{f"{x}_token": y for x, y in roles.items()}
  )


def made(kind, system, folder, **fields):
  """A random model of a class of gliner, saved in a folder."""
  import torch

  words = tokenizer(system)
  encoder = {"model_type": system, "vocab_size": len(words), **SIZES, **MORE[system]}
  encoder["pad_token_id"] = words.pad_token_id
  config = {"encoder_config": encoder, "model_name": "none/such", "hidden_size": 16}
  config |= {"max_width": 5, "max_types": 30, "dropout": 0.1, "_attn_implementation": "eager"}
  options = {}
  if kind.startswith("Bi"):
    options["labels_tokenizer"] = tokenizer("bert")
    size = len(options["labels_tokenizer"])
    of_labels = {"model_type": "bert", "vocab_size": size, **SIZES, "hidden_size": 20}
    config |= {"labels_encoder": "none/such", "labels_encoder_config": of_labels}
  name = kind.replace("Span", "EncoderSpan").replace("Token", "EncoderToken")
  config = getattr(gliner.config, f"{name}Config")(**{**config, **fields})
  of_class = getattr(gliner.model, f"{name}GLiNER")
  torch.manual_seed(0)
  model = of_class(config, tokenizer=words, backbone_from_pretrained=False, **options)
  of_class._resize_token_embeddings(model, config, words)
  with torch.no_grad():
    for parameter in model.parameters():
      parameter.add_(torch.randn_like(parameter) * 0.08)
  model.eval()
  model.save_pretrained(folder, safe_serialization=True)
  return model


def texts(number, most=40):
  rng = random.Random(0)
  drawn = (rng.choices(WORDS, k=rng.randint(1, most)) for _ in range(number))
  return [" ".join(x) if i % 7 else f"  {'  '.join(x)}\n" for i, x in enumerate(drawn)]


def theirs_of(model, chosen, **options):
  found = model.inference(chosen, sorted(LABELS), batch_size=8, **options)
  return [
    sorted((x["start"], x["end"], x["label"], round(x["score"], 4)) for x in of_text)
    for of_text in found
  ]


def ours_of(model, chosen, **options):
  return [
    sorted((x.start, x.end, x.label, round(x.score, 4)) for x in of_text)
    for of_text in model.predict(chosen, labels=LABELS, **options)
  ]
