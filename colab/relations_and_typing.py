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
# for either question, their scores, and their predictions drawn as arcs and in colours.

# %%
# @title Installs luke_jax where it is missing, and leaves the runtime's JAX as it is
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

ADDRESS = "https://github.com/luke-jax/luke_jax"


def checkout():
  """Returns the folder of the repository, cloned if there is none."""
  here = Path.cwd()
  for folder in (here, *here.parents, here / "luke_jax"):
    if (folder / "data" / "sample_model").is_dir():
      return folder
  subprocess.run(["git", "clone", "--quiet", "--depth", "1", ADDRESS, "luke_jax"], check=True)
  return here / "luke_jax"


def install(folder):
  """Installs what is missing, with the runtime's own jax: another would not fit its TPU or GPU."""
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

print(f"JAX {jax.__version__} on {jax.device_count()} x {jax.devices()[0].device_kind}")

# %% [markdown]
# An example of relations is a text, the characters of head and tail, and a label.

# %%
import json

with Path("data/sample_tasks/relations/train.jsonl").open(encoding="utf-8") as lines:
  example = json.loads(next(lines))
print({name: example[name] for name in ("text", "head", "tail", "label")})

# %% [markdown]
# Train on such a file; a list of dictionaries or a data frame in its place does too. For files of
# your own, `luke-jax data check FILE --task relations` reports what is wrong with them.

# %%
import luke_jax

settings = {"learning_rate": 3e-3, "batch_size": 16, "epochs": 3}
settings |= {"evaluate_every": 150, "log_every": 50}
relations, scores, _ = luke_jax.fine_tune(
  "relations",
  "data/sample_model",
  train="data/sample_tasks/relations/train.jsonl",
  dev="data/sample_tasks/relations/dev.jsonl",
  folder="runs/notebooks/relations",
  **settings,
)
print(f"F1 on dev, without no_relation: {scores['f1']:.3f}")

# %% [markdown]
# Score it on texts that it has not seen. `no_relation` does not count in F1.

# %%
from luke_jax.cli import main  # the command luke-jax, in this process

test = "data/sample_tasks/relations/test.jsonl"
assert main(["evaluate", "relations", "runs/notebooks/relations/run", test]) == 0

# %% [markdown]
# Ask about pairs in a new text. A relation has a direction: head and tail are not the same.

# %%
from luke_jax import show

text = (
  "Lucella Brunetti-Vay was born in Castrel. In 2011 she signed for Tsukigawa Comets, and a year"
  " later she received the Bronze Boot in Hoshima."
)


def place(name):
  """Returns the characters of a name in the text."""
  return text.index(name), text.index(name) + len(name)


tails = [place(name) for name in ("Castrel", "Tsukigawa Comets", "Hoshima")]
found = relations.predict([text] * 3, head=[place("Lucella Brunetti-Vay")] * 3, tail=tails)
show.relations(text, found)

# %% [markdown]
# Types are the other question. An example is a text, a span, and as many labels as are true.

# %%
types, scores, _ = luke_jax.fine_tune(
  "typing",
  "data/sample_model",
  train="data/sample_tasks/typing/train.jsonl",
  dev="data/sample_tasks/typing/dev.jsonl",
  folder="runs/notebooks/types",
  **settings,
)
print(f"F1 on dev: {scores['f1']:.3f}")

# %% [markdown]
# Scores by label, and the mistakes that it was most certain of.

# %%
test = "data/sample_tasks/typing/test.jsonl"
assert main(["evaluate", "typing", "runs/notebooks/types/run", test, "--mistakes", "3"]) == 0

# %% [markdown]
# The types of the entities above, as a picture. Those that overlap are drawn inside one another.

# %%
spans = [place("Lucella Brunetti-Vay"), *tails]
found = types.predict([text] * len(spans), span=spans)
show.entities(text, [one for several in found for one in several])

# %% [markdown]
# How both learned, side by side.

# %%
runs = {"relations": "runs/notebooks/relations/run", "types": "runs/notebooks/types/run"}
show.curves(runs, metrics=["loss", "f1"])

# %% [markdown]
# Formats, metrics and the paper's settings: [docs/tasks.md](../docs/tasks.md).
