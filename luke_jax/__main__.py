"""`python -m luke_jax` is the command `luke-jax`."""

import sys

from luke_jax.cli import main

sys.exit(main())
