"""Processors in Hugging Face directories: tokenizer, entity vocabulary and settings."""

from typing import Any

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.text.entity_vocab import SPECIAL_ENTITIES
from luke_jax.text.entity_vocab_files import FILES, load_entity_vocab, save_entity_vocab
from luke_jax.text.json_files import read_json_object
from luke_jax.text.processor import Processor
from luke_jax.text.tokenizer_files import (
  CONFIG,
  MODEL_CONFIG,
  load_tokenizer,
  save_tokenizer,
  tokenizer_config,
)

# Fields of a processor under the names they have in tokenizer_config.json.
SETTINGS = {
  "task": "task",
  "model_max_length": "max_length",
  "max_entity_length": "max_entity_length",
  "max_mention_length": "max_mention_length",
}


def has_entity_vocab(directory: Path) -> bool:
  """Returns whether the files of a model include an entity vocabulary."""
  names = (name for name in FILES if name != CONFIG)
  inlined = "entity_vocab" in tokenizer_config(directory)
  return inlined or any((directory / name).exists() for name in names)


def load_processor(directory: str | Path, **changes: Any) -> Processor:
  """Reads a processor from a model's directory; `changes` are fields to set otherwise.

  A model of words only has the special entities, so that spans can be marked.
  """
  directory = Path(directory)
  config = tokenizer_config(directory)
  settings = {name: config[key] for key, name in SETTINGS.items() if config.get(key) is not None}
  for name, value in list(settings.items()):
    # transformers writes a huge number if there is no limit.
    if isinstance(value, int | float) and value > 1e6:
      del settings[name]
    elif name != "task" and type(value) is not int:
      raise InputError(f"{directory / CONFIG}: {name} is {value!r}; expected a whole number")
  words = _of_words_only(directory)
  if words is not None:
    settings["token_types"] = words.get("type_vocab_size", 1) > 1
  tokenizer = load_tokenizer(directory, markers=words is None)
  vocab = load_entity_vocab(directory) if words is None else SPECIAL_ENTITIES
  try:
    return Processor(tokenizer, vocab, **(settings | changes))
  except InputError as error:
    raise InputError(f"{directory}: {error}") from None


def _of_words_only(directory: Path) -> dict[str, Any] | None:
  """Returns the config of a model that reads no entities, as BERT; None for all else."""
  path = directory / MODEL_CONFIG
  if has_entity_vocab(directory) or not path.exists():
    return None
  config = read_json_object(path, "the config of a model")
  return None if "entity_vocab_size" in config else config


def save_processor(processor: Processor, directory: str | Path) -> None:
  """Writes a processor into a model's directory."""
  settings = {key: getattr(processor, name) for key, name in SETTINGS.items()}
  save_tokenizer(processor.tokenizer, directory, settings)
  save_entity_vocab(processor.entity_vocab, Path(directory) / "entity_vocab.json")
