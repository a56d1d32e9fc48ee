"""Build of the wheel, which has the files that `luke-jax demo` reads, and of the sdist.

Both have the same bytes wherever they are built, where SOURCE_DATE_EPOCH gives their time; all else
is in pyproject.
"""

import gzip
import os
import pathlib
import shutil
import tarfile
import time

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = pathlib.Path(__file__).parent
os.umask(0o022)  # modes of files are in the archives


class WithDemo(build_py):
  """Copies the files of MANIFEST.in, which lie beside the package, into it."""

  def run(self):
    """Builds as ever; an editable installation finds the files where they are."""
    super().run()
    if self.editable_mode:
      return
    for line in (HERE / "MANIFEST.in").read_text(encoding="utf-8").splitlines():
      for file in sorted(HERE.glob(line.removeprefix("include "))):
        target = pathlib.Path(self.build_lib, "luke_jax/demo/files", file.relative_to(HERE))
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
    for path in pathlib.Path(self.build_lib).rglob("*"):
      if path.is_file():
        path.chmod(0o644)


class SameBytes(sdist):
  """Writes an archive without owners, modes and times of the machine that builds it."""

  def make_archive(self, base_name, format, root_dir=None, base_dir=None, **owners):
    """Writes the folder `base_dir` as a .tar.gz, the only format that sdists have."""
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))

    def plain(member):
      member.mode = 0o755 if member.isdir() else 0o644
      member.uid, member.gid, member.uname, member.gname = 0, 0, "", ""
      member.mtime = seconds
      return member

    target = pathlib.Path(f"{base_name}.tar.gz")
    target.parent.mkdir(parents=True, exist_ok=True)
    with (
      target.open("wb") as file,
      gzip.GzipFile("", "wb", fileobj=file, mtime=seconds) as packed,
      tarfile.open(mode="w", fileobj=packed) as archive,
    ):
      archive.add(base_dir, filter=plain)
    return str(target)


setup(cmdclass={"build_py": WithDemo, "sdist": SameBytes})
