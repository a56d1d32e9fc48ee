"""Tiny models with the words of the sample wiki, for tests on the sample tasks."""

import dataclasses
import shutil
from pathlib import Path

import jax
from networks import network
from safetensors.numpy import load_file, save_file

from luke_jax.model import Model
from luke_jax.models.network import initial_params
from luke_jax.models.table import SIZES
from luke_jax.text import EntityVocab, Processor, load_tokenizer
from luke_jax.text.tokenizer import SPECIAL

ROOT = Path(__file__).parents[1]
WIDTHS = {
  "hidden_size": 16,
  "intermediate_size": 32,
  "num_attention_heads": 2,
  "num_hidden_layers": 1,
  "entity_emb_size": 8,
}


TOKENIZER = ROOT / "data/sample_wiki/tokenizer"


def save_start(folder: Path) -> Path:
  """Writes a pretrained LUKE's directory: nothing learnt, and one entity beside the special."""
  tokenizer = load_tokenizer(TOKENIZER)
  vocab = EntityVocab({title: id for id, title in enumerate((*SPECIAL, "Castrel"))})
  sizes = {"vocab_size": tokenizer.vocab_size, "entity_vocab_size": len(vocab)}
  made = network("LukeForMaskedLM", dataclasses.replace(SIZES["luke-base"], **sizes, **WIDTHS))
  params = jax.device_get(initial_params(made, jax.random.key(0)))
  Model(made, params, (), tokenizer, Processor(tokenizer, vocab)).save(folder)
  return folder


def save_roberta(folder: Path, *, markers: bool = False) -> Path:
  """Writes a pretrained RoBERTa's directory; with markers, as one of LUKE's records has them."""
  folder.mkdir()
  for name in ("vocab.json", "merges.txt"):  # the files beside them name the markers
    shutil.copy(TOKENIZER / name, folder)
  tokenizer = load_tokenizer(folder, markers=markers)
  sizes = {"vocab_size": tokenizer.vocab_size, **WIDTHS}
  del sizes["entity_emb_size"]
  made = network("RobertaForMaskedLM", dataclasses.replace(SIZES["roberta-base"], **sizes))
  params = jax.device_get(initial_params(made, jax.random.key(0)))
  Model(made, params, (), tokenizer).save(folder)
  return folder


def without_sums(directory: Path) -> None:
  """Writes a model's tensors as other programs do, without sums of them and of the files beside."""
  file = directory / "model.safetensors"
  save_file(load_file(file), file)


def sample_file(task: str, split: str, suffix: str = "jsonl") -> Path:
  """A file of the sample tasks; `tagging` has those of `ner`."""
  task = "ner" if task == "tagging" else task
  return ROOT / "data" / "sample_tasks" / task / f"{split}.{suffix}"
