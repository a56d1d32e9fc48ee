import os

# The suite runs on the CPU wherever it is; tests for other devices start processes of their own.
os.environ.setdefault("JAX_PLATFORMS", "cpu")


def pytest_make_parametrize_id(val):
  return getattr(val, "stem", None)  # files by their names
