"""Errors for models that are missing, with the place and the command that gets one."""

import difflib
import re

from luke_jax.convert.published import PUBLISHED
from luke_jax.errors import InputError
from luke_jax.files import Path

# Owners on Hugging Face's hub of models that people call by their names alone.
_OWNERS = {
  "luke": "studio-ousia",
  "mluke": "studio-ousia",
  "bert": "google-bert",
  "roberta": "FacebookAI",
  "xlm": "FacebookAI",
}


_EXAMPLE = "studio-ousia/luke-base", "luke-base"


def no_model(path: Path, fault: str = "no such file or directory") -> InputError:
  """Returns the error for a path without a model, with the commands that get one."""
  name, directory = _on_hub(path)
  known = ", ".join(f"{model}, which `luke-jax get {model}` fetches" for model in PUBLISHED)
  near = difflib.get_close_matches(str(path), PUBLISHED, n=1)
  hint = f"; perhaps {near[0]}" if near else ""
  return InputError(
    f"{path}: {fault}; expected a model's directory, such as `hf download {name} --local-dir"
    f" {directory}` makes, or {known}{hint}"
  )


def _on_hub(path: Path) -> tuple[str, str]:
  """Returns the name that a path probably is on the hub, with a directory for it; or an example."""
  text = str(path)
  if re.fullmatch(r"\w[\w-]*/[\w.-]+", text) and not path.parent.exists():
    return text, text
  owner = _OWNERS.get(text.partition("-")[0]) if re.fullmatch(r"\w+(-[\w.]+)+", text) else None
  return (f"{owner}/{text}", text) if owner else _EXAMPLE
