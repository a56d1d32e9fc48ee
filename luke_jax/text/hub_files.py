"""Files with a tokenizer's settings and special tokens, as transformers 4 and 5 write them."""

from collections.abc import Mapping
from typing import Any

from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.text.entity_vocab import SPECIAL as SPECIAL_ENTITIES
from luke_jax.text.json_files import read_json_object
from luke_jax.text.special_tokens import ROBERTA, Roles, SpecialTokens, special_tokens

CONFIG, ADDED, WHOLE = "tokenizer_config.json", "added_tokens.json", "tokenizer.json"
SPECIAL_MAP = "special_tokens_map.json"
# It has had two names for the list of special tokens that have no role.
MORE_SPECIAL = ("additional_special_tokens", "extra_special_tokens")


def tokenizer_config(directory: Path) -> dict[str, Any]:
  """Returns the settings in tokenizer_config.json; empty without such a file."""
  return _object(directory / CONFIG, "a tokenizer's settings")


def whole_tokenizer(directory: Path) -> dict[str, Any]:
  """Returns the contents of tokenizer.json; empty without such a file."""
  return _object(directory / WHOLE, "a tokenizer")


def special_map(directory: Path) -> dict[str, object]:
  """Returns the names in special_tokens_map.json; empty without such a file."""
  return _object(directory / SPECIAL_MAP, "an object of role -> token")


def token_name(token: object) -> str | None:
  """Returns the name of a token, written as a string or as an object; None for anything else."""
  name = token.get("content") if isinstance(token, dict) else token
  return name if isinstance(name, str) and name else None


def read_special_tokens(
  directory: Path,
  base: Mapping[str, int],
  base_size: int,
  markers: tuple[str, ...],
  *,
  roles: Roles = ROBERTA,
) -> SpecialTokens:
  """Reads the special tokens beside a vocabulary, of which `base` are its own.

  Entity markers that the settings do not name are `markers`, if any.
  """
  config = tokenizer_config(directory)
  pair = [config.get(f"entity_token_{i}") or config.get(f"entity_{i}_token") for i in (1, 2)]
  defaults = markers or (None, None)
  named = [token_name(name) or default for name, default in zip(pair, defaults, strict=True)]
  entity_markers = tuple(name for name in named if name is not None)
  # transformers 5 adds the special entities to the words, where the model has no rows for them.
  added = {t: i for t, i in added_tokens(directory).items() if t not in SPECIAL_ENTITIES}
  try:
    return special_tokens(
      base, base_size, added, entity_markers if len(entity_markers) == 2 else (), roles=roles
    )
  except InputError as error:
    raise InputError(f"{directory}: {error}") from None


def added_tokens(directory: Path) -> dict[str, int]:
  """Returns the tokens added to a vocabulary, wherever this version of transformers wrote them."""
  if (directory / ADDED).exists():
    return read_json_object(directory / ADDED, "an object of token -> id")
  config = tokenizer_config(directory)
  try:
    if "added_tokens_decoder" in config:
      return {token["content"]: int(id) for id, token in config["added_tokens_decoder"].items()}
    tokens = whole_tokenizer(directory).get("added_tokens", [])
    return {token["content"]: token["id"] for token in tokens}
  except (AttributeError, KeyError, TypeError, ValueError):
    raise InputError(
      f"{directory}: added tokens in an unknown form; expected {ADDED}, or tokens with their"
      f" content and id in {CONFIG} or {WHOLE}"
    ) from None


def _object(path: Path, expected: str) -> dict[str, object]:
  return read_json_object(path, expected) if path.exists() else {}
