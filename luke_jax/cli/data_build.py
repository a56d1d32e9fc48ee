"""`luke-jax data build`."""

import contextlib
import difflib
import importlib
import io
import json
import sys
import tempfile
from typing import Annotated, Any

from tyro.conf import Positional, arg

from luke_jax.cli.task_inputs import report_faults
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.tasks.files import Faults

BUILDERS = Path("data")


def run(
  name: Annotated[str, Positional, arg(metavar="NAME")],
  /,
  *,
  manual_dir: Path,
  output: Path = Path("datasets"),
  skip_bad: bool = False,
) -> None:
  """Makes a dataset from a benchmark's original files, in the root of the repository.

  The README of data/NAME lists those files. Wherever a command takes a file of examples,
  it also takes a split of the dataset, such as datasets/conll2003/1.0.0:train.

      luke-jax data build conll2003 --manual-dir ~/conll2003

  Args:
    name: Folder of data/ with a builder.
    manual_dir: Folder with the original files.
    output: Folder for datasets.
    skip_bad: Leaves out examples that are faulty, and counts them.
  """
  builder, faults = _builder(name)(data_dir=output, file_format="array_record"), Faults(skip_bad)
  builder.faults = faults
  for file in builder.SOURCE.files.values():
    if not (manual_dir / file).is_file():
      raise InputError(
        f"{manual_dir / file}: no such file; expected it as {BUILDERS / name}/README.md says"
      )
  folder = Path(builder.data_dir)
  if folder.exists():
    raise InputError(f"{folder}: exists; expected another --output, or no such folder")
  _build(builder, manual_dir)
  report_faults(faults)
  splits = {name: split.num_examples for name, split in builder.info.splits.items()}
  print(json.dumps({"folder": str(folder), "examples": splits}))


def _builder(name: str) -> Any:
  """Returns the class of one of the repository's builders, which the package does not include."""
  if not (BUILDERS / "builders.py").is_file():
    raise InputError(f"{BUILDERS}/builders.py: no such file; expected the repository's root here")
  known = sorted(path.parent.name for path in BUILDERS.glob("*/dummy_data"))
  if name not in known:
    near = difflib.get_close_matches(name, known, n=1)
    hint = f", perhaps {near[0]}" if near else ""
    raise InputError(f"{name!r}: no such dataset; expected one of {', '.join(known)}{hint}")
  sys.path.insert(0, str(Path(".").absolute()))
  module = importlib.import_module(f"{BUILDERS}.{name}.{name}")
  return next(value for value in vars(module).values() if hasattr(value, "SOURCE"))


def _build(builder: Any, files: Path) -> None:
  import tensorflow_datasets as tfds  # takes half a second, which no other command needs

  tfds.disable_progress_bar()
  with tempfile.TemporaryDirectory() as downloads, contextlib.redirect_stdout(io.StringIO()):
    config = tfds.download.DownloadConfig(manual_dir=files)
    builder.download_and_prepare(download_dir=downloads, download_config=config)
