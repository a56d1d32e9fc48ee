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
# # A quick look at LUKE
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/luke-jax/luke_jax/blob/main/colab/quick_look.ipynb)
#
# LUKE is a transformer that reads a text as words and the entities in it. In a minute you will have
# seen what a small one knows, what it looks at, and how it learns to name the types of entities.
# The model is tiny and of an invented world, so that nothing has to be downloaded; real ones are
# used by the same lines.

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
# Load a model. `data/sample_model` is a directory as Hugging Face has them.

# %%
import luke_jax
from luke_jax import show

model = luke_jax.load("data/sample_model")
print(model.architecture)
print(f"{model.config.num_hidden_layers} layers, {model.config.entity_vocab_size} entities")

# %% [markdown]
# A text with two entities, given by their characters, becomes inputs, and these become a vector
# for each word and for each entity.

# %%
text = "She studied in Arkessa and won the Golden Inkwell."
spans = [(15, 22), (35, 49)]

inputs = model.processor(text, entity_spans=spans)
outputs = model(**inputs, output_hidden_states=True)
print("words:", outputs["hidden_states"][-1].shape)
print("entities:", outputs["entity_hidden_states"][-1].shape)

# %% [markdown]
# What are these two? The model was pretrained to find entities that are masked, so it can tell.

# %%
luke(f"predict-masks data/sample_model '{text}' --span 15 22 --span 35 49 --top 3")

# %% [markdown]
# Each entity has an embedding. These lie near to each other:

# %%
show.nearest(model, ["Velmora", "Castrel", "Lokomotiv Gorinsk"], count=4)

# %% [markdown]
# Words and entities attend to each other, by a query of its own for each of the four kinds of
# pairs. Rows are who looks, columns are what is looked at.

# %%
show.attention(model, "Aurelio Verdano wrote A Grammar of Rain.", [(0, 15), (22, 39)])

# %% [markdown]
# Now it learns a task: what types has an entity? 600 examples, five times over. The command is the
# one that you would type in a shell.

# %%
luke("""
  train typing --train data/sample_tasks/typing/train.jsonl --dev data/sample_tasks/typing/dev.jsonl
  --model data/sample_model --output runs/notebooks/types
  --set data.batch_size=16 --set optimizer.learning_rate=3e-3 --set run.epochs=5
  --set run.evaluate_every=null --set run.log_every=50
""")

# %% [markdown]
# Ask it about sentences of your own. Spans are characters, the end not included.

# %%
types = luke_jax.load("runs/notebooks/types/model")
text = "The Eldra flows through Hvitdal, where Sigrun Eldrason sings."
entities = [(4, 9), (24, 31), (39, 54)]
found = types.predict([text] * len(entities), span=entities)
show.entities(text, [span for spans in found for span in spans], labels=types.labels)

# %% [markdown]
# The same with a released model: `hf download studio-ousia/luke-base --local-dir luke-base`, and
# `luke-base` in place of `data/sample_model`. Next: [your own named entities](your_own_ner.ipynb),
# or [all notebooks](README.md).
