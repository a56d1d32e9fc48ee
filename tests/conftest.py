import os

# The suite runs on the CPU wherever it is; tests for other devices start processes of their own.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
# Most of the suite's time is XLA optimising programs that run once. CI runs it with XLA_FLAGS= too.
os.environ.setdefault(
  "XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
)


def pytest_make_parametrize_id(val):
  return getattr(val, "stem", None)  # files by their names
