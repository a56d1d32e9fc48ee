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
# # A look inside the attention
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/luke-jax/luke_jax/blob/main/colab/inside_the_attention.ipynb)
#
# LUKE has four kinds of query: from word to word, word to entity, entity to word and entity to
# entity (paper §3.2). You will have seen all of them on a sentence, their numbers, and what happens
# without the distinction.

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
# A model, and a sentence with its entities. Without titles entities are read as `[MASK]`, as in
# NER, typing and relations.

# %%
import luke_jax
from luke_jax import show

model = luke_jax.load("data/sample_model")
text = "Aurelio Verdano wrote A Grammar of Rain in Velmora."
spans = [(0, 15), (22, 39), (43, 50)]

# %% [markdown]
# The last layer, the mean of its heads. Each row sums to 1 over the two maps that it crosses.

# %%
show.attention(model, text, spans)

# %% [markdown]
# The first layer's first head: heads differ far more than their mean shows.

# %%
show.attention(model, text, spans, layer=0, head=0)

# %% [markdown]
# The numbers behind the pictures: words first, then entities.

# %%
from luke_jax.show.heat_maps import attention_of

numbers = attention_of(model, text, spans, layer=0, head=0)
print(numbers.words)
print(numbers.entities)
print(numbers.weights.shape, numbers.weights.sum(axis=1).round(4)[:3])

# %% [markdown]
# How much of the attention of words and entities goes to entities? One row for each head.

# %%
words = len(numbers.words)
rows = []
for layer in range(model.config.num_hidden_layers):
  for head in range(model.config.num_attention_heads):
    weights = attention_of(model, text, spans, layer=layer, head=head).weights
    shares = (weights[:words, words:].sum(1).mean(), weights[words:, words:].sum(1).mean())
    rows.append([f"{layer}, {head}", *(f"{share:.1%}" for share in shares)])
show.table(["layer, head", "words to entities", "entities to entities"], rows)

# %% [markdown]
# Are the four queries of a layer different? This is the cosine of each with the query from word to
# word. This model was pretrained with all four. The released ones were pretrained with one: there
# the others are copies of it, and cosines are 1 until a task is learned.

# %%
import numpy as np

query = np.asarray(model.params["luke"]["encoder"]["layers"]["attention"]["query"]["kernel"])
print("layers, kind of the asking token, of the asked one, D, heads, H:", query.shape)
flat = query.reshape(*query.shape[:3], -1)
flat = flat / np.linalg.norm(flat, axis=-1, keepdims=True)
kinds = ("word", "entity")
rows = [
  [layer, f"{asking} to {asked}", float(flat[layer, i, j] @ flat[layer, 0, 0])]
  for layer in range(len(flat))
  for i, asking in enumerate(kinds)
  for j, asked in enumerate(kinds)
]
show.table(["layer", "query", "cosine"], rows)

# %% [markdown]
# Without the distinction all pairs share one query: the original attention, with the same weights.

# %%
import warnings

with warnings.catch_warnings():
  warnings.simplefilter("ignore")  # it names three queries that are left over
  original = luke_jax.load("data/sample_model", use_entity_aware_attention=False)
show.attention(original, text, spans)

# %% [markdown]
# Table 7 of the paper measures the gain of the distinction; to measure it on a task of yours, add
# `use_entity_aware_attention=False` to `luke_jax.fine_tune`. A picture is kept as a page by
# `show.attention(…).save("attention.html")`. More of them: [docs/pictures.md](../docs/pictures.md).
