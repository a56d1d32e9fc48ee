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
# LUKE asks by four kinds of query: a word of a word, a word of an entity, an entity of a word, an
# entity of an entity (paper §3.2). You will have seen all of them on a sentence, their numbers,
# and what becomes of them without the distinction.

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
# A model, and a sentence with its entities. Give titles, and the entities are those of the
# vocabulary; without them they are read as `[MASK]`, as in NER, typing and relations.

# %%
import luke_jax
from luke_jax import show

model = luke_jax.load("data/sample_model")
text = "Aurelio Verdano wrote A Grammar of Rain in Velmora."
spans = [(0, 15), (22, 39), (43, 50)]

# %% [markdown]
# The last layer, the mean of its heads. Each row sums to 1 over both maps it runs through.

# %%
show.attention(model, text, spans)

# %% [markdown]
# The first layer's first head: heads differ far more than their mean tells.

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
# How much of what words and entities read is entities? One row for each head.

# %%
words = len(numbers.words)
rows = []
for layer in range(model.config.num_hidden_layers):
  for head in range(model.config.num_attention_heads):
    weights = attention_of(model, text, spans, layer=layer, head=head).weights
    shares = (weights[:words, words:].sum(1).mean(), weights[words:, words:].sum(1).mean())
    rows.append([f"{layer}, {head}", *(f"{share:.1%}" for share in shares)])
show.table(["layer, head", "words read entities", "entities read entities"], rows)

# %% [markdown]
# Are the four queries of a layer different ones? The cosine of each with the query from word to
# word. This model was pretrained with all four. The released ones were pretrained with one: there
# the others are copies of it, and cosines are 1 until a task is learned.

# %%
import numpy as np

query = np.asarray(model.params["luke"]["encoder"]["layers"]["attention"]["query"]["kernel"])
print("layers, asking kind, asked kind, width, heads, width of a head:", query.shape)
kinds = ("word", "entity")
flat = query.reshape(*query.shape[:3], -1)
for layer, kernels in enumerate(flat):
  base = kernels[0, 0]
  for i, asking in enumerate(kinds):
    for j, asked in enumerate(kinds):
      one = kernels[i, j]
      cosine = one @ base / np.linalg.norm(one) / np.linalg.norm(base)
      print(f"layer {layer}  {asking:>6} to {asked:6} {cosine:+.2f}")

# %% [markdown]
# Without the distinction all pairs share one query, the original attention. The same weights, read
# so:

# %%
import warnings

with warnings.catch_warnings():
  warnings.simplefilter("ignore")  # it says that three queries are left over
  original = luke_jax.load("data/sample_model", use_entity_aware_attention=False)
show.attention(original, text, spans)

# %% [markdown]
# What the distinction is worth is Table 7 of the paper; to measure it on a task of yours, add
# `--set model.use_entity_aware_attention=false` to its training. A picture is kept as a page by
# `show.attention(…).save("attention.html")`. More of them: [docs/pictures.md](../docs/pictures.md).
