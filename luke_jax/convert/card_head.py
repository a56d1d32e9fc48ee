"""The head of a model card: metadata in YAML for Hugging Face's hub."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from luke_jax.convert.parts import ModelParts

# Letters that YAML reads as ends of lines or refuses, and JSON does not escape.
_NOT_IN_YAML = "[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]"


def card_head(
  model: ModelParts, record: Mapping[str, Any], base: Mapping[str, Any], *, adapter: bool = False
) -> str:
  """Returns the metadata of a model; `base` are facts of the model that it started from."""
  languages = {x.get("language") for x in record.get("data", ())} | {base.get("language")}
  known = sorted(language for language in languages if language)
  task = model.network.head.hub_task if model.network.head else ""
  tags = [model.config.name, "luke_jax", *([task] if task else [])]
  library = "luke_jax" if adapter else "transformers"
  lines = [f"library_name: {library}", "tags:", *(f"- {tag}" for tag in tags)]
  lines += ["language:", *(f"- {_yaml(x)}" for x in known)] if known else []
  lines += [f"license: {_yaml(base.get('license', 'unknown'))}"]
  scores = record.get("scores") or {}
  if scores and task:
    names = dict.fromkeys(name for figures in scores.values() for name in figures)
    lines += ["metrics:", *(f"- {_yaml(name)}" for name in names)]
    lines += ["model-index:", f"- name: {model.architecture}", "  results:"]
    lines += [line for split in scores for line in _result(task, split, record)]
  return "\n".join(["---", *lines, "---"])


def _result(task: str, split: str, record: Mapping[str, Any]) -> Iterable[str]:
  files = {x["split"]: x["file"] for x in record.get("data", ())}
  name = files.get(split) or split
  yield f"  - task:\n      type: {task}"
  yield f"    dataset:\n      name: {_yaml(name)}\n      type: {_yaml(name)}\n      split: {split}"
  yield "    metrics:"
  for metric, value in record["scores"][split].items():
    yield f"    - type: {_yaml(metric)}\n      value: {_yaml(value)}"


def _yaml(value: Any) -> str:
  """Returns a JSON value as YAML; a plain word needs no quotes."""
  plain = isinstance(value, str) and re.fullmatch(r"[a-z][a-z0-9_.-]*", value)
  words = ("true", "false", "null", "yes", "no", "on", "off", "y", "n")
  if plain and value not in words:
    return value
  quoted = json.dumps(value, ensure_ascii=False)
  return re.sub(_NOT_IN_YAML, lambda match: f"\\u{ord(match[0]):04x}", quoted)
