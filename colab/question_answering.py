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
# Two ways to ask. Extractive: a question, and the part of the passage that answers it. Cloze: a
# sentence with a gap, and the entity of the passage that fills it. You will have a model for each.

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
# Extractive questions first. Two epochs are a beginning; for better answers let `epochs` be 6, and
# choose another folder.

# %%
import luke_jax

settings = {"learning_rate": 3e-3, "batch_size": 8, "epochs": 2, "entities": 32}
settings |= {"evaluate_every": None, "log_every": 50}
qa, scores, _ = luke_jax.fine_tune(
  "qa",
  "data/sample_model",
  train="data/sample_tasks/qa/train.jsonl",
  dev="data/sample_tasks/qa/dev.jsonl",
  folder="runs/notebooks/qa",
  frozen=[],  # the paper freezes the embeddings of entities
  **settings,
)
print(f"exact match on dev: {scores['exact_match']:.3f}")

# %% [markdown]
# The official metrics of SQuAD, on questions that it has not seen.

# %%
from luke_jax.cli import main  # the command luke-jax, in this process

test = "data/sample_tasks/qa/test.jsonl"
assert main(["evaluate", "qa", "runs/notebooks/qa/run", test, "--mistakes", "2"]) == 0

# %% [markdown]
# A question of your own: the best answers in their passage, with their probabilities.

# %%
from luke_jax import show

passage = (
  "Marenza Montaro was born in Castrel. In 1981 she signed for Tsukigawa Comets. Renzo Castellari"
  " was born in Longdu."
)
question = "Where was Marenza Montaro born?"
show.answers(passage, question, qa.predict(passage, question=question))

# %% [markdown]
# A cloze question is a statement with `@placeholder` in it. LUKE puts a masked entity there and
# scores the entities of the passage against it.

# %%
cloze, scores, _ = luke_jax.fine_tune(
  "cloze",
  "data/sample_model",
  train="data/sample_tasks/cloze/train.jsonl",
  dev="data/sample_tasks/cloze/dev.jsonl",
  **settings,
)
print(f"exact match on dev: {scores['exact_match']:.3f}")

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
show.answers(passage, query, cloze.predict(passage, query=query, entities=entities))

# %% [markdown]
# With `luke-large` and SQuAD or ReCoRD the calls are the same
# ([docs/tasks.md](../docs/tasks.md)). Passages that are longer than the model's rows are read in
# windows.
