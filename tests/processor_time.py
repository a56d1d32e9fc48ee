"""Processor time of the tests, and what it went into, printed when the suite ends.

Wall time depends as much on a shared machine's other work as on a test. Processor time, of all
threads of the test's process and of the processes that it starts, is what the test costs.

PROCESSOR_SECONDS is the most that the suite may take; above it, it fails. PROCESSOR_FILE is where
the seconds of every test are written, as JSON.
"""

import json
import os
import resource
import time
from collections import Counter
from pathlib import Path, PurePosixPath

import pytest

SLOWEST = 10
# What JAX reports as durations of its own, which include those of functions within functions.
STAGES = {
  "/jax/core/compile/jaxpr_trace_duration": "tracing",
  "/jax/core/compile/jaxpr_to_mlir_module_duration": "lowering",
  "/jax/core/compile/backend_compile_duration": "compiling",
}
_stages = Counter[str]()
_workers = pytest.StashKey[list[tuple[float, int]]]()  # seconds and KiB of each


def pytest_configure(config):
  if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
    import jax.monitoring

    jax.monitoring.register_event_duration_secs_listener(_listen)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
  item.before = _used()
  return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
  if call.when == "teardown":
    used = _used()
    used.subtract(item.before)
    item.user_properties.append(("processor", dict(used)))
  return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_sessionfinish(session):
  result = yield
  if hasattr(session.config, "workeroutput"):
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    session.config.workeroutput["processor"] = (_used()["all"], memory)
  elif _suite(session.config) > _limit():
    session.exitstatus = pytest.ExitCode.TESTS_FAILED
  return result


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
  output = getattr(node, "workeroutput", {})
  if "processor" in output:
    node.config.stash.setdefault(_workers, []).append(output["processor"])


def pytest_terminal_summary(terminalreporter, config):
  tests = {}
  for report in terminalreporter.getreports(""):
    if used := dict(report.user_properties).get("processor"):
      tests[report.nodeid] = used
  if path := os.environ.get("PROCESSOR_FILE"):
    Path(path).write_text(json.dumps(tests), encoding="utf-8")
  if len(tests) <= SLOWEST:
    return
  folders, causes = Counter[str](), Counter[str]()
  for name, used in tests.items():
    folders["/".join(PurePosixPath(name.split("::")[0]).parts[:2])] += used["all"]
    causes.update(used)
  write = terminalreporter.write_line
  terminalreporter.section("processor seconds")
  for name, used in sorted(tests.items(), key=lambda test: -test[1]["all"])[:SLOWEST]:
    write(f"{used['all']:8.1f}  {name}")
  write("")
  for folder, seconds in folders.most_common():
    write(f"{seconds:8.1f}  {folder}")
  write("")
  parts = ", ".join(f"{cause} {causes[cause]:.0f}" for cause in (*STAGES.values(), "processes"))
  write(f"{causes['all']:8.1f}  in tests: {parts}")
  total = _suite(config)
  write(f"{total:8.1f}  in all, with the start of workers and what they import")
  for _, memory in config.stash.get(_workers, []):
    write(f"{memory / 2**20:8.1f}  GiB at most in a worker")
  if total > _limit():
    write(f"FAILED: more than the {_limit():.0f} processor seconds that it may take", red=True)


def _listen(event: str, seconds: float, **_: object) -> None:
  if event in STAGES:
    _stages[STAGES[event]] += seconds


def _used() -> Counter:
  """Processor seconds of this process so far, and of those that it has waited for."""
  children = resource.getrusage(resource.RUSAGE_CHILDREN)
  started = children.ru_utime + children.ru_stime
  return Counter(_stages, processes=started, all=time.process_time() + started)


def _suite(config) -> float:
  """Processor seconds of the whole suite: of its workers and of this process.

  Workers are counted by what they say at their end, since they have not ended yet.
  """
  workers = config.stash.get(_workers, [])
  if not workers:
    return _used()["all"]
  return time.process_time() + sum(seconds for seconds, _ in workers)


def _limit() -> float:
  return float(os.environ.get("PROCESSOR_SECONDS", "inf"))
