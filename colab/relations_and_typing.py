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
# # Relations and types of entities
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/luke-jax/luke_jax/blob/main/colab/relations_and_typing.ipynb)
#
# How are two entities of a text related, and what is each of them? You will have two models, one
# for either question, their scores, and their answers drawn as arcs and in colours.

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
# An example of relations is a text, the characters of head and tail, and a label.

# %%
import json

with Path("data/sample_tasks/relations/train.jsonl").open(encoding="utf-8") as lines:
  example = json.loads(next(lines))
print({name: example[name] for name in ("text", "head", "tail", "label")})

# %% [markdown]
# Train on 600 of them. For files of your own, put their names here; `luke("data check FILE --task
# relations")` tells what is wrong with them.

# %%
luke("""
  train relations --train data/sample_tasks/relations/train.jsonl
  --dev data/sample_tasks/relations/dev.jsonl
  --model data/sample_model --output runs/notebooks/relations
  --set data.batch_size=16 --set optimizer.learning_rate=3e-3 --set run.epochs=6
  --set run.evaluate_every=100 --set run.log_every=50
""")

# %% [markdown]
# Score it on texts that it has not seen. `no_relation` does not count in F1.

# %%
luke("evaluate relations runs/notebooks/relations data/sample_tasks/relations/test.jsonl")

# %% [markdown]
# Ask about pairs in a new text. A relation has a direction: head and tail are not the same.

# %%
import luke_jax
from luke_jax import show

text = (
  "Lucella Brunetti-Vay was born in Castrel. In 2011 she signed for Tsukigawa Comets, and a year"
  " later she received the Bronze Boot in Hoshima."
)


def place(name):
  """The characters of a name in the text."""
  return text.index(name), text.index(name) + len(name)


relations = luke_jax.load("runs/notebooks/relations/model")
tails = [place(name) for name in ("Castrel", "Tsukigawa Comets", "Hoshima")]
found = relations.predict([text] * 3, head=[place("Lucella Brunetti-Vay")] * 3, tail=tails)
show.relations(text, found)

# %% [markdown]
# Types are the other question. An example is a text, a span, and as many labels as are true.

# %%
luke("""
  train typing --train data/sample_tasks/typing/train.jsonl --dev data/sample_tasks/typing/dev.jsonl
  --model data/sample_model --output runs/notebooks/typing
  --set data.batch_size=16 --set optimizer.learning_rate=3e-3 --set run.epochs=6
  --set run.evaluate_every=100 --set run.log_every=50
""")

# %% [markdown]
# Scores by label, and the mistakes that it was surest of.

# %%
luke("evaluate typing runs/notebooks/typing data/sample_tasks/typing/test.jsonl --mistakes 3")

# %% [markdown]
# The types of the entities above, as a picture. Those that overlap are drawn inside one another.

# %%
typing = luke_jax.load("runs/notebooks/typing/model")
spans = [place("Lucella Brunetti-Vay"), *tails]
found = typing.predict([text] * len(spans), span=spans)
show.entities(text, [one for types in found for one in types], labels=typing.labels)

# %% [markdown]
# How both learned, side by side.

# %%
runs = {"relations": "runs/notebooks/relations", "types": "runs/notebooks/typing"}
show.curves(runs, metrics=["loss", "f1"])

# %% [markdown]
# Formats, metrics and the paper's settings: [docs/tasks.md](../docs/tasks.md).
