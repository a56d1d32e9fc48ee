"""Files by which a failure in the suite can be repeated: what its process had run before, in order.

.venv/bin/python -m pytest --numprocesses 0 @.pytest_cache/before-gw1.txt
"""

from collections import defaultdict
from pathlib import Path

_ran: dict[str, list[str]] = defaultdict(list)  # by the process, as tests began
_failed: dict[str, str] = {}  # the first of each process


def pytest_runtest_logreport(report):
  process = getattr(report, "worker_id", "main")
  if report.when == "setup":
    _ran[process].append(report.nodeid)
  if report.failed:
    _failed.setdefault(process, report.nodeid)


def pytest_terminal_summary(terminalreporter, config):
  for process, name in _failed.items():
    tests = _ran[process][: _ran[process].index(name) + 1]
    file = Path(config.rootpath, ".pytest_cache", f"before-{process}.txt")
    file.parent.mkdir(exist_ok=True)
    file.write_text("\n".join(tests) + "\n", encoding="utf-8")
    command = f"python -m pytest --numprocesses 0 @{file.relative_to(config.rootpath)}"
    terminalreporter.write_line(f"{name} again, after the {len(tests) - 1} before it: {command}")
