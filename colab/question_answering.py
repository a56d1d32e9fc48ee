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
# # Questions: answers in a passage, and entities in a gap
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/luke-jax/luke_jax/blob/main/colab/question_answering.ipynb)
#
# Two ways to ask. Extractive: a question, and the stretch of the passage that answers it. Cloze: a
# sentence with a gap, and which entity of the passage fills it. You will have a model for each.

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
# Extractive questions first. Twice over the training file is a beginning; for better answers let
# `run.epochs` be 6, and name another output.

# %%
luke("""
  train qa --train data/sample_tasks/qa/train.jsonl --dev data/sample_tasks/qa/dev.jsonl
  --model data/sample_model --output runs/notebooks/qa
  --set task.entities=32 --set optimizer.frozen=[] --set optimizer.learning_rate=3e-3
  --set data.batch_size=8 --set run.epochs=2 --set run.evaluate_every=null --set run.log_every=50
""")

# %% [markdown]
# The official metrics of SQuAD, on questions that it has not seen.

# %%
luke("evaluate qa runs/notebooks/qa data/sample_tasks/qa/test.jsonl --mistakes 2")

# %% [markdown]
# A question of your own: the best answers in their passage, and how probable each is.

# %%
import luke_jax
from luke_jax import show

passage = (
  "Marenza Montaro was born in Castrel. In 1981 she signed for Tsukigawa Comets. Renzo Castellari"
  " was born in Longdu."
)
question = "Where was Marenza Montaro born?"

qa = luke_jax.load("runs/notebooks/qa/model")
show.answers(passage, question, qa.predict(passage, question=question))

# %% [markdown]
# A cloze question is a statement with `@placeholder` in it. LUKE puts a masked entity there and
# scores the entities of the passage against it.

# %%
luke("""
  train cloze --train data/sample_tasks/cloze/train.jsonl --dev data/sample_tasks/cloze/dev.jsonl
  --model data/sample_model --output runs/notebooks/cloze
  --set task.entities=32 --set optimizer.learning_rate=3e-3
  --set data.batch_size=8 --set run.epochs=2 --set run.evaluate_every=null --set run.log_every=50
""")

# %% [markdown]
# The candidates are spans that you give, such as those that a
# [model of named entities](your_own_ner.ipynb) finds.

# %%
passage = (
  "Halvdan Skarholt was born in Hvitdal. In 2004 the footballer joined Zenit Zarechna. Renzo"
  " Castellari played for Meghapur Tigers."
)
query = "Halvdan Skarholt played for @placeholder from 2004 on."
names = ("Halvdan Skarholt", "Hvitdal", "Zenit Zarechna", "Renzo Castellari", "Meghapur Tigers")
entities = [(passage.index(name), passage.index(name) + len(name)) for name in names]

cloze = luke_jax.load("runs/notebooks/cloze/model")
show.answers(passage, query, cloze.predict(passage, query=query, entities=entities))

# %% [markdown]
# With `luke-large` and SQuAD or ReCoRD the commands are the same
# ([docs/tasks.md](../docs/tasks.md)). Passages that are longer than the model are read in windows.
