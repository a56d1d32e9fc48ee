"""`luke-jax doctor`: what it finds, what it says of it, and that it always ends."""

import json
import re
import sys
import time

import pytest

from luke_jax import __version__
from luke_jax.cli import doctor, main
from luke_jax.doctor import inventory, probe
from luke_jax.doctor import report as doctor_report
from luke_jax.doctor.inventory import Extra, Machine, Package, Space, accelerators, memory
from luke_jax.doctor.report import Diagnosis, examine, run_probe

GB = 10**9
PLENTY = Space(50 * GB, 100 * GB)
CPU = {"platform": "cpu", "kinds": {"cpu": 1}, "memory_bytes": None, "seconds": 0.5}


def machine(**changes):
  usual = {"cores": 2, "memory": PLENTY, "disks": {"/here": PLENTY}, "shared_memory": PLENTY}
  return Machine(**{**usual, "accelerators": (), **changes})


def report(**changes):
  found = {
    "version": "0.1.0",
    "python": "3.11.7",
    "executable": "python",
    "packages": (Package("jax", "0.10.2", ">=0.7.2"), Package("jaxlib", "0.10.2")),
    "faults": {},
    "devices": CPU,
    "libtpu": {"version": None},
    "machine": machine(),
    "settings": {},
    "parts": (Extra("beam", "dump builds", ("apache-beam",), "pip install 'luke_jax[beam]'"),),
  }
  return Diagnosis(**(found | changes))


def child(code):
  return [sys.executable, "-c", code]


@pytest.fixture(scope="module")
def found():
  return examine(60)


def test_this_machine_as_a_page(found, monkeypatch, capsys):
  monkeypatch.setattr(doctor, "examine", lambda seconds: found)
  assert main(["doctor"]) == 0
  lines = capsys.readouterr().out.splitlines()
  assert lines[0] == "Versions"
  assert lines[-1].startswith(f"works: luke_jax {__version__} with JAX on ")
  assert any(line.startswith("  jaxlib ") for line in lines)


def test_this_machine_as_json(found, monkeypatch, capsys):
  monkeypatch.setattr(doctor, "examine", lambda seconds: found)
  assert main(["doctor", "--json"]) == 0
  (line,) = capsys.readouterr().out.splitlines()
  told = json.loads(line)
  assert told["works"] and told["sentence"].startswith("works")
  assert told["devices"]["kinds"] and told["import_faults"] == {}
  assert {"jax", "jaxlib", "flax", "optax", "grain", "sentencepiece"} <= told["versions"].keys()
  assert {"tpu", "beam", "parity", "notebooks"} <= told["optional"].keys()
  assert told["machine"]["cores"] > 0


def test_platforms_that_are_not_here(monkeypatch, capsys):
  monkeypatch.setenv("JAX_PLATFORMS", "nonsense")
  assert main(["doctor"]) == 1
  last = capsys.readouterr().out.splitlines()[-1]
  assert last.startswith("broken: devices: ") and "JAX_PLATFORMS is nonsense" in last


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "1e9"])
def test_seconds(seconds, capsys):
  assert main(["doctor", "--seconds", seconds]) == 2
  assert "--seconds: " in capsys.readouterr().err


def test_a_child_that_never_ends_is_left_behind():
  forever = (
    "import signal, subprocess, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
    "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']); time.sleep(60)"
  )
  began = time.monotonic()
  answer = run_probe([], 0.5, command=child(forever))
  assert answer == {"fault": "no answer in 0.5 s", "late": True}
  assert time.monotonic() - began < 10


def test_a_child_that_dies_reports_its_last_line():
  code = "import os, sys; print('no chip', file=sys.stderr, flush=True); os.abort()"
  assert run_probe([], 30, command=child(code)) == {
    "fault": "the process ended with status -6: no chip"
  }
  assert (
    run_probe([], 30, command=child("pass"))["fault"]
    == "the process ended with status 0: nothing on stderr"
  )


def test_chatter_around_the_answer_is_passed_over():
  code = "print('{no} [1]'); print('{\"a\": 1}'); print('3'); print('bye')"
  assert run_probe([], 30, command=child(code)) == {"a": 1}


def test_a_file_of_the_users_is_no_package(tmp_path, monkeypatch):
  (tmp_path / "rich.py").write_text("raise OSError")
  monkeypatch.chdir(tmp_path)
  assert run_probe(["packages", "rich"], 30) == {}


def test_what_cannot_be_imported_is_named(tmp_path, monkeypatch):
  (tmp_path / "torn_apart.py").write_text("raise OSError('two\\nlines')")
  monkeypatch.syspath_prepend(tmp_path)
  assert probe.packages(["rich", "torn-apart"]) == {"torn-apart": "OSError: two lines"}


@pytest.mark.parametrize(
  ("version", "required", "fits"),
  [
    ("0.10.2", ">=0.9", True),
    ("0.9", ">=0.10", False),
    ("1.0", ">=1.0.0", True),
    ("0.10.2.dev3", ">=0.10.2", True),
    ("2.6.0+cpu", "<3,>=2.6", True),
    ("3.1", "<3,>=2.6", False),
    (None, "", False),
    ("1", "", True),
  ],
)
def test_versions(version, required, fits):
  assert Package("p", version, required).fits is fits


def test_a_part_lacks_what_its_packages_extras_lack(monkeypatch):
  needs = {
    "luke_jax": ["jax>=0.7", 'jax[tpu]; extra == "tpu"', 'old>=2; extra == "beam"'],
    "jax": ["jaxlib", 'libtpu==0.0.42.*; extra == "tpu"', 'plugin; extra == "cuda"'],
  }
  there = {"jax": "0.10.2", "old": "1.9"}
  monkeypatch.setattr(inventory.importlib.metadata, "requires", lambda name: needs.get(name))
  monkeypatch.setattr(inventory, "version", there.get)
  tpu, beam = inventory.optional_parts("py thon")
  assert (tpu.name, tpu.missing) == ("tpu", ("libtpu",))
  assert (beam.name, beam.missing) == ("beam", ("old",))
  assert tpu.command.startswith("'py thon' -m pip install ") and "[tpu]" in tpu.command


def test_a_folder_that_is_not_installed_requires_nothing(monkeypatch):
  monkeypatch.setattr(inventory, "OURS", "luke-jax-that-nobody-installed")
  assert inventory.optional_parts("python") == []
  assert [package.name for package in inventory.base_packages()] == ["jaxlib"]


def messages(findings):
  return [finding.message for finding in findings]


def test_packages_that_do_not_fit():
  found = (
    Package("jax", "0.10.2", ">=0.7.2"),
    Package("jaxlib", "0.9.0"),
    Package("flax", None, ">=0.11"),
    Package("optax", "0.1", ">=0.2"),
  )
  lines = messages(doctor_report.package_findings(found, {"grain": "ImportError: x"}))
  assert lines == [
    "flax: not installed; expected luke_jax reinstalled with pip",
    "optax: 0.1; expected >=0.2",
    "grain: cannot be imported (ImportError: x); expected it reinstalled with pip",
    "jaxlib: 0.9.0 with jax 0.10.2; expected the same version of both",
  ]


@pytest.mark.parametrize(
  ("devices", "settings", "files", "expected"),
  [
    (CPU, {}, (), None),
    (CPU, {"JAX_PLATFORMS": "cpu"}, (), None),
    (CPU, {}, ("/dev/accel0",), "CPU, though /dev/accel0 exists .* optional part tpu"),
    (CPU, {}, ("/dev/nvidia0",), "CPU, though /dev/nvidia0 exists .* optional part cuda"),
    (CPU, {"JAX_PLATFORMS": "cpu"}, ("/dev/nvidia0",), "JAX_PLATFORMS is cpu.; expected it unset"),
    ({"fault": "no (set JAX_PLATFORMS='')"}, {"JAX_PLATFORMS": "tpu"}, (), "devices: no .JAX_PLAT"),
    ({"fault": "no answer", "late": True}, {}, (), "no other process"),
  ],
)
def test_devices_that_are_not_those_of_the_machine(devices, settings, files, expected):
  found = list(doctor_report.device_findings(devices, settings, machine(accelerators=files)))
  if expected is None:
    assert not found
  else:
    (finding,) = found
    assert finding.broken is ("fault" in devices)
    assert re.search(expected, finding.message)


def test_settings_that_change_things():
  assert messages(doctor_report.setting_findings({"XLA_FLAGS": "--x", "JAX_ENABLE_X64": "0"})) == [
    "XLA_FLAGS: --x; the compiler's defaults are overridden"
  ]


def test_too_little_room():
  little = Space(64 * 2**20, 64 * 2**20)
  lines = messages(
    doctor_report.machine_findings(
      machine(shared_memory=little, disks={"/tmp": little}, memory=None)
    )
  )
  assert lines == [
    "disk of /tmp: 0.1 GB free; expected 5 or more for real data",
    "/dev/shm: 0.1 GB free; expected 1 or more for real data",
  ]


def test_the_verdict_names_what_is_broken_first():
  broken = report(devices={"fault": "none"}, settings={"XLA_FLAGS": "--x"})
  assert not broken.works
  assert broken.sentence.startswith("broken: devices: none")
  assert [finding.broken for finding in broken.findings] == [True, False]
  shown = doctor.page(broken)
  assert shown.index("Broken\n") < shown.index("Good to know\n")
  assert shown.endswith(f"{broken.sentence}\n")


def test_the_page_tells_what_is_missing_and_how_to_get_it():
  shown = doctor.page(report(libtpu={"version": "1", "fault": "no answer in 60 s", "late": True}))
  assert "beam  missing: apache-beam (for dump builds)" in shown
  assert "To get them\n  pip install 'luke_jax[beam]'\n" in shown
  assert shown.endswith("works: luke_jax 0.1.0 with JAX on 1 x cpu; good to know: 1, above\n")


def test_memory_is_what_a_container_is_allowed(tmp_path):
  assert memory(tmp_path) is None
  (tmp_path / "proc").mkdir()
  (tmp_path / "proc" / "meminfo").write_text("MemTotal: 1000 kB\nMemAvailable: 800 kB\n")
  assert memory(tmp_path) == Space(800 * 1024, 1000 * 1024)
  group = tmp_path / "sys" / "fs" / "cgroup"
  group.mkdir(parents=True)
  (group / "memory.max").write_text("max\n")
  (group / "memory.current").write_text("100\n")
  assert memory(tmp_path) == Space(800 * 1024, 1000 * 1024)
  (group / "memory.max").write_text("5000\n")
  assert memory(tmp_path) == Space(4900, 5000)


def test_accelerators_are_device_files(tmp_path):
  for name in ("accel0", "nvidia0", "nvidiactl", "null"):
    (tmp_path / name).touch()
  assert accelerators(tmp_path) == (str(tmp_path / "accel0"), str(tmp_path / "nvidia0"))


@pytest.mark.parametrize("version", [None, "4.57.3", "5.23.0", "5.23.1", "6.0"])
def test_tokenizers_of_luke_are_right(version):
  assert not list(doctor_report.transformers_findings(version))


@pytest.mark.parametrize("version", ["5.0.0", "5.16.0.dev0", "5.22.1"])
def test_tokenizers_of_luke_are_wrong_in_silence(version):
  (line,) = messages(doctor_report.transformers_findings(version))
  assert (
    line.startswith(f"transformers: {version}, whose own tokenizers") and "5.23 or newer" in line
  )
