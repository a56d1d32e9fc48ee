"""Options of the TPU's compiler, for tests of what does not depend on how fast the program is."""

# The least effort takes a fifth of the time. Which values are sharded, and so what is sent, and
# which kernels are called are settled before it; the program needs about as much memory or more.
QUICK = {"exec_time_optimization_effort": -1.0}
