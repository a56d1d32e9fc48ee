"""Huge pages for the arrays of commands that compute."""

import contextlib
import os
import sys
from collections.abc import Sequence

from luke_jax.files import Path

COMPUTING = {
  "bench encoder",
  "bench engine",
  "bench graph",
  "bench ner",
  "bench step",
  "bench tener",
  "evaluate",
  "experiment run",
  "graph train",
  "predict",
  "predict-masks",
  "train",
  "try",
}
ASKED = "GLIBC_TUNABLES"  # glibc reads it only when a process starts
HUGE_PAGES = "glibc.malloc.hugetlb=1"
MODE = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def ask_for_huge_pages(arguments: Sequence[str]) -> None:
  """Starts a command that computes again with huge pages, where Linux gives them to who asks.

  XLA allocates its arrays anew in every step, and each of their small pages is a page fault: in a
  training step of luke-base on two cores, a quarter of the time.
  """
  computes = any(list(arguments[: name.count(" ") + 1]) == name.split() for name in COMPUTING)
  if not computes or ASKED in os.environ or not waits_to_be_asked():
    return
  os.environ[ASKED] = HUGE_PAGES
  with contextlib.suppress(OSError):  # it can do without
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def waits_to_be_asked(mode: Path = MODE) -> bool:
  """Returns whether Linux gives huge pages only to those who ask."""
  try:
    return "[madvise]" in mode.read_text(encoding="utf-8")
  except OSError:
    return False
