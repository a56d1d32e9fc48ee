"""Build of the wheel, which has the files that `luke-jax demo` reads; all else is in pyproject."""

import pathlib
import shutil

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = pathlib.Path(__file__).parent


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


setup(cmdclass={"build_py": WithDemo})
