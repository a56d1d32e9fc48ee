"""The begin and the end of a command's process, and its progress on stderr."""

import contextlib
import io
import os
import re
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import TextIO, TypeVar, cast

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from luke_jax.errors import InputError
from luke_jax.files import Path, program_folder
from luke_jax.terminal import Console, Stream, visible

BEGUN = time.perf_counter_ns()  # of the command

COMPUTING = {"evaluate", "experiment run", "graph train", "predict", "predict-masks", "train"}
COMPUTING |= {"embed", "try"}
ASKED = "GLIBC_TUNABLES"  # glibc reads it only when a process starts
HUGE_PAGES = "glibc.malloc.hugetlb=1"
LONGEST = 1000  # characters of a path in a message: it may be a text
HANDLED = (signal.SIGINT, signal.SIGTERM)
MODE = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def computes(arguments: Sequence[str]) -> bool:
  """Returns whether arguments are those of a command that computes for long."""
  return any(list(arguments[: name.count(" ") + 1]) == name.split() for name in COMPUTING)


def ask_for_huge_pages() -> None:
  """Starts this process again with huge pages, where Linux gives them to who asks.

  XLA allocates its arrays anew in every step, and each of their small pages is a page fault: in a
  training step of luke-base on two cores, a quarter of the time.
  """
  if ASKED in os.environ or not waits_to_be_asked():
    return
  os.environ[ASKED] = HUGE_PAGES
  # What comes while Python starts again waits until the program takes it.
  signal.pthread_sigmask(signal.SIG_BLOCK, HANDLED)
  with contextlib.suppress(OSError):  # it can do without
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
  signal.pthread_sigmask(signal.SIG_UNBLOCK, HANDLED)


def waits_to_be_asked(mode: Path = MODE) -> bool:
  """Returns whether Linux gives huge pages only to those who ask."""
  try:
    return "[madvise]" in mode.read_text(encoding="utf-8")
  except OSError:
    return False


@contextlib.contextmanager
def shown_streams() -> Iterator[None]:
  """Lets `print` show in a terminal, as pictures, what would control it; files keep it."""
  before = sys.stdout, sys.stderr
  for stream in before:
    if isinstance(stream, io.TextIOWrapper):  # the encoding of a terminal may lack some letters
      stream.reconfigure(errors="backslashreplace")
  sys.stdout, sys.stderr = (cast(TextIO, Stream(x)) if x.isatty() else x for x in before)
  try:
    yield
  finally:
    sys.stdout, sys.stderr = before


def one_line(text: str) -> str:
  """Returns a message as a line: names of files may have line breaks and other controls."""
  return visible(text.replace("\n", " "))


_NO_MEMORY = re.compile(r"RESOURCE_EXHAUSTED|[Oo]ut of memory|[Ff]ailed to allocate")


def outcome(fault: BaseException) -> tuple[str, int] | None:
  """Returns a line and a status for a fault that a user can mend; None for one of this program."""
  if isinstance(fault, InputError):
    return str(fault), 2
  if isinstance(fault, OSError):
    return f"{fault.filename!s:.{LONGEST}}: {fault.strerror}" if fault.filename else str(fault), 2
  if isinstance(fault, KeyboardInterrupt):
    return "interrupted", 130
  if isinstance(fault, MemoryError) or _NO_MEMORY.search(str(fault)):
    message = str(fault).strip().partition("\n")[0] or "out of memory"
    return f"{message}; expected less of it, as a smaller batch or a smaller model needs", 2
  return None


def keep_programs() -> None:
  """Lets JAX keep compiled programs in the user's cache, before it is imported."""
  if "JAX_COMPILATION_CACHE_DIR" in os.environ:
    return
  folder = program_folder()
  try:
    folder.mkdir(parents=True, exist_ok=True)
  except OSError:
    return
  if not os.access(folder, os.W_OK):  # JAX would complain of each program
    return
  os.environ["JAX_COMPILATION_CACHE_DIR"] = str(folder)
  os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")


CHIPS = ("dev/accel*", "dev/vfio/[0-9]*")
VENDORS, GOOGLE = "sys/bus/pci/devices/*/vendor", "0x1ae0"
OF_TPUS = ("TPU_", "CLOUD_TPU_", "MEGASCALE_", "JAX_PLATFORM")  # settings that ask for platforms


def leave_out_tpus() -> None:
  """Tells JAX, before it is imported, of a machine without a TPU where libtpu is installed.

  Else it looks for one: a second, and five lines of libtpu on stderr. Whatever may be a TPU, and
  whatever names platforms, is left to JAX, and so is a machine with plugins for others.
  """
  if any(name.startswith(OF_TPUS) for name in os.environ) or not find_spec("libtpu"):
    return
  if entry_points(group="jax_plugins") or may_have_tpu():
    return
  os.environ["JAX_PLATFORMS"] = "cpu"


def may_have_tpu(root: Path = Path("/")) -> bool:
  """Returns whether a device of this machine may be a TPU."""
  if any(next(root.glob(pattern), None) for pattern in CHIPS):
    return True
  try:
    return any(file.read_text("utf-8").strip() == GOOGLE for file in root.glob(VENDORS))
  except OSError:
    return True


Item = TypeVar("Item")


def stderr_console() -> Console:
  """Returns a console on stderr, without animation in a notebook, which keeps every frame of it."""
  console = Console(stderr=True)
  if console.is_jupyter:
    return Console(stderr=True, force_jupyter=False, force_terminal=False)
  return console


def counted(items: Iterable[Item], total: int | None) -> Iterator[Item]:
  """Yields predictions, with a progress bar in a terminal."""
  columns = (TextColumn("predicting"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
  console = stderr_console()
  shown = {"console": console, "transient": True, "disable": not console.is_terminal}
  with Progress(*columns, **shown) as progress:
    bar = progress.add_task("", total=total)
    for item in items:
      progress.advance(bar)
      yield item
