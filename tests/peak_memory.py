"""The largest memory of a script that a test starts."""

# Not `ru_maxrss`: Linux begins a child's at that of the process that started it.
PEAK = """
def peak():
  with open("/proc/self/status") as file:
    return next(1024 * int(line.split()[1]) for line in file if line.startswith("VmHWM:"))
"""
