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
# # Adding entities to the vocabulary
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/luke-jax/luke_jax/blob/main/colab/adding_entities.ipynb)
#
# Your entities are not among those that the model knows. You will have a model that knows them
# too, with the vectors of the old ones unchanged to the bit.

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
# Which of yours does it know?

# %%
import luke_jax

model = luke_jax.load("data/sample_model")
vocab = model.processor.entity_vocab
titles = ["Castrel", "Arkessa", "Port Salvia", "Quentin Oarsman"]
for title in titles:
  print(f"{title:16} {'known' if vocab.contains(title) else 'not known'}")

# %% [markdown]
# Add the others. They get ids after the old ones and start as copies of `[MASK]`: an entity of
# which nothing is known.

# %%
from luke_jax.convert.text_side import add_entities

new = [title for title in titles if not vocab.contains(title)]
grown = add_entities(model, new)
print({title: grown.processor.entity_vocab.id(title) for title in new})

# %% [markdown]
# Nothing else has changed: the vectors of all old entities are the same to the bit.

# %%
import numpy as np

old = np.asarray(grown.entity_table)[: len(vocab)]
print("old vectors the same:", np.array_equal(old, model.entity_table))
inputs = model.processor("She studied in Arkessa.", entity_spans=[(15, 22)])
before, after = (np.asarray(one(**inputs)["entity_logits"]) for one in (model, grown))
print("their scores, before and after:", before.shape, after.shape)
print("largest difference of an old one:", np.abs(before - after[..., : len(vocab)]).max())

# %% [markdown]
# Better than nothing: let a new entity begin among similar ones, at the mean of their vectors.
# Port Salvia is a city, Quentin Oarsman a writer.

# %%
table = np.asarray(model.entity_table)
similar = {
  "Port Salvia": ["Castrel", "Arkessa", "Hoshima"],
  "Quentin Oarsman": ["Leontas Psarellis", "Aurelio Verdano"],
}
vectors = [table[[vocab.id(name) for name in similar[title]]].mean(axis=0) for title in new]
grown = add_entities(model, new, vectors=np.stack(vectors))

# %% [markdown]
# Their neighbours are now of their kind.

# %%
from luke_jax import show

show.nearest(grown, new, count=4)

# %% [markdown]
# In a text a new entity is named as the old ones are.

# %%
text = "Quentin Oarsman moved to Port Salvia."
inputs = grown.processor(text, entity_spans=[(0, 15), (25, 36)], entities=new[::-1])
print(inputs["entity_ids"], grown(**inputs)["entity_last_hidden_state"].shape)

# %% [markdown]
# Save it; PyTorch reads it too. The same from a shell, with a file of titles, is
# `luke-jax entities add`.

# %%
grown.save("runs/notebooks/grown")
luke_jax.load("runs/notebooks/grown")

# %% [markdown]
# Vectors that mean more come from [pretraining](pretraining_on_your_wiki.ipynb) on texts that link
# these entities: known ones keep their rows there. Wikidata's numbers, and what can go wrong:
# [docs/howto/own-entities.md](../docs/howto/own-entities.md).
