"""XLA's settings that make programs compile soon, for tests whose subject is not their speed.

Nearly all of the time of a test goes into optimising programs that run once.
"""

from importlib.metadata import version

FLAGS = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
FLAGS += " --xla_cpu_parallel_codegen_split_count=1"
if int(version("jaxlib").split(".")[1]) < 12:  # later ones end at a flag they no longer know
  FLAGS += " --xla_cpu_use_fusion_emitters=false"


def flags(devices: int) -> str:
  """Returns them with so many devices on the CPU."""
  return f"{FLAGS} --xla_force_host_platform_device_count={devices}"
