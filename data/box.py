"""Writes an adapter of a box with its card, which ends in the notice of all of them."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from luke_jax.convert.adapters import save_adapter
from luke_jax.convert.card import with_record
from luke_jax.convert.published import ENGLISH, WEIGHTS
from luke_jax.model import Model

NOTICE = "No text of the data is in the files: [the notice]({}NOTICE.md) of the box."


def write(model: Model, record: Mapping[str, Any], licence: str, target: Path) -> None:
  """Writes a model's adapter in the place of what was there; the licence is that of its data."""
  shutil.rmtree(target, ignore_errors=True)
  save_adapter(with_record(model, {**record, "data_licence": licence}), target)
  config = json.loads((target / "config.json").read_text(encoding="utf-8"))
  backbone = config["luke_jax"]["adapter"]["backbone"]["sha256"]
  notice = NOTICE.format("../" if backbone == ENGLISH.files[WEIGHTS] else "../../")
  card = target / "README.md"
  told = card.read_text(encoding="utf-8").replace(f"{licence}.", f"{licence}. {notice}")
  card.write_text(told, encoding="utf-8")
