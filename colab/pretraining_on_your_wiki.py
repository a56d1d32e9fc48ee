# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Pretraining on your own wiki
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/luke-jax/luke_jax/blob/main/colab/pretraining_on_your_wiki.ipynb)
#
# From the dump of a wiki to a LUKE that knows its entities. You will have records, a short
# pretraining with its curves, and what the model then puts in the place of masked entities. The
# sample is a wiki of an invented world; any dump that MediaWiki writes (`pages-articles`) takes the
# same steps.

# %%
# @title Installs luke_jax where it is missing, and leaves the runtime's JAX as it is
import contextlib
import io
import os
import shlex
import subprocess
import sys
from importlib import metadata
from pathlib import Path

ADDRESS = "https://github.com/luke-jax/luke_jax"


def checkout():
  """The folder of the repository, fetched where there is none."""
  here = Path.cwd()
  for folder in (here, *here.parents, here / "luke_jax"):
    if (folder / "data" / "sample_model").is_dir():
      return folder
  subprocess.run(["git", "clone", "--quiet", "--depth", "1", ADDRESS, "luke_jax"], check=True)
  return here / "luke_jax"


def install(folder):
  """Installs what is missing. Another jax would not fit the runtime's TPU or GPU: it is kept."""
  there = {package.name: package.version for package in metadata.distributions() if package.name}
  if not {"luke_jax", "luke-jax"} & there.keys():
    kept = [f"{name}=={there[name]}" for name in there if name.startswith(("jax", "libtpu"))]
    pip = [sys.executable, "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, str(folder), *kept], check=True)


repository = checkout()
install(repository)
os.chdir(repository)
os.environ["JUPYTER_COLUMNS"] = "100"  # the width of tables

import jax
from IPython.core.error import UsageError

from luke_jax.cli import main


def luke(command, status=0):
  """Runs luke-jax in this process, for two processes cannot share an accelerator."""
  # Trainings print all settings first; they are in OUTPUT/config.json too.
  to = io.StringIO() if command.split()[0] == "train" else sys.stdout
  with contextlib.redirect_stdout(to):
    found = main(shlex.split(command))
  if found != status:
    raise UsageError(f"luke-jax {command.split()[0]} did not do it: the line above says why")


print(f"JAX {jax.__version__} on {jax.device_count()} x {jax.devices()[0].device_kind}")

# %% [markdown]
# **Your dump.** Its file, and the directory of the tokenizer that the model is to have. For a dump
# of your own take RoBERTa's, and more entities than 300.

# %%
DUMP = "data/sample_wiki/samplewiki-pages-articles-multistream.xml.bz2"
TOKENIZER = "data/sample_wiki/tokenizer"
ENTITIES = 300
OUTPUT = "runs/notebooks/wiki"
STEPS = 1000  # the sample's whole pretraining is 1,500, in a minute and a half

# %% [markdown]
# **Records.** Pages lose their markup, links become entities, sentences are packed. The table says
# what was read, and what was dropped and why.

# %%
luke(f"""
  wiki build '{DUMP}' --tokenizer '{TOKENIZER}' --entities {ENTITIES} --max-words 48
  --max-entities 16 --unknown-entities skip --output '{OUTPUT}'
""")

# %% [markdown]
# Look before you train: entities are marked in their words.

# %%
luke(f"wiki show '{OUTPUT}' --n 2")

# %% [markdown]
# **Pretraining.** Words and entities are masked, and the model finds them again. The settings are
# those of an [experiment file](../experiments/pretraining/tiny.py); each field can be changed.

# %%
luke(f"""
  train experiments/pretraining/tiny.py --output runs/notebooks/pretraining
  --set 'task.corpora=["{OUTPUT}/pretraining"]' --set model.entity_vocab_size={ENTITIES}
  --set run.steps={STEPS} --set run.evaluate_every=250 --set run.save_every=250
""")

# %% [markdown]
# `entity_accuracy` is of pages that were held out; `entity_majority` is what always saying the most
# frequent entity would give. So few steps are a beginning: set `STEPS` to 1500 for more than
# half of them found.

# %%
from luke_jax import show

curves = ["loss", "entity_accuracy", "entity_majority"]
show.curves("runs/notebooks/pretraining", metrics=curves)

# %% [markdown]
# **A model** is a directory, made from the best checkpoint. Tasks start from it as from any other.

# %%
luke("export runs/notebooks/pretraining runs/notebooks/wiki-luke")

# %% [markdown]
# What it makes of masked entities, and beside it `data/sample_model`, which was trained longer.

# %%
asked = "'She studied in Arkessa and won the Golden Inkwell.' --span 15 22 --span 35 49 --top 3"
luke(f"predict-masks runs/notebooks/wiki-luke {asked}")
luke(f"predict-masks data/sample_model {asked}")

# %% [markdown]
# Wikipedia's dump and the paper's recipe, on TPUs: [docs/pretraining.md](../docs/pretraining.md).
