"""A disk that is full, and a folder that nobody may write: one line each, and then the run goes on.

python -m tests.faults.disk
"""

import tempfile
from pathlib import Path

from tests.faults.commands import ended, train


def full(place: Path, most_kib: int) -> str:
  """A run whose files may not grow above a size, as on a full disk; then one that may."""
  folder = place / f"full-{most_kib}"
  status, _, line = ended(train(place / "cache", folder, most_kib=str(most_kib)))
  assert status == 2 and "Traceback" not in line and str(folder) in line, (status, line)
  assert ended(train(place / "cache", folder))[0] == 0
  return line


def not_a_folder(place: Path) -> str:
  """A place below a file, where nothing can be written, whoever asks."""
  (place / "file").write_text("")
  status, _, line = ended(train(place / "cache", place / "file" / "run"))
  assert status == 2 and "Traceback" not in line, (status, line)
  return line


if __name__ == "__main__":
  with tempfile.TemporaryDirectory(prefix="luke-jax-disk-") as temporary:
    for kib in (1, 20, 100):
      print(f"{kib} KiB: {full(Path(temporary), kib)}", flush=True)
    print(f"no folder: {not_a_folder(Path(temporary))}", flush=True)
