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
# seen what a small one knows, what it attends to, and how it learns to name the types of entities.
# The model is tiny and of an invented world, so that nothing has to be downloaded; real ones are
# used by the same lines.

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
# Load a model. `data/sample_model` is a Hugging Face directory.

# %%
import luke_jax
from luke_jax import show

model = luke_jax.load("data/sample_model")
model

# %% [markdown]
# A text with two entities, given by their characters, becomes inputs, and these become a vector
# for each word and for each entity.

# %%
text = "She studied in Arkessa and won the Golden Inkwell."
spans = [(15, 22), (35, 49)]

inputs = model.processor(text, entity_spans=spans)
outputs = model(**inputs)
print("words:", outputs["last_hidden_state"].shape)
print("entities:", outputs["entity_last_hidden_state"].shape)

# %% [markdown]
# The model was pretrained to predict entities that are masked. Which entities are these two?

# %%
from luke_jax.tasks.mask_predictions import predict_masks

rows = [
  [text[slice(*mask.characters)], guess.name, guess.probability]
  for mask in predict_masks(model, model.processor, text, spans=spans, top=3)
  for guess in mask.guesses
]
show.table(["in the text", "predicted", "probability"], rows)

# %% [markdown]
# Each entity has an embedding. These are near to each other:

# %%
show.nearest(model, ["Velmora", "Castrel", "Lokomotiv Gorinsk"], count=4)

# %% [markdown]
# Words and entities attend to each other, with a query of its own for each of the four kinds of
# pairs. Rows are queries, columns are keys.

# %%
show.attention(model, "Aurelio Verdano wrote A Grammar of Rain.", [(0, 15), (22, 39)])

# %% [markdown]
# Now it learns a task: which types has an entity? `train` and `dev` may also be lists of
# dictionaries or data frames.

# %%
types, scores, _ = luke_jax.fine_tune(
  "typing",
  model,
  train="data/sample_tasks/typing/train.jsonl",
  dev="data/sample_tasks/typing/dev.jsonl",
  learning_rate=3e-3,
  batch_size=16,
  epochs=5,
  evaluate_every=None,  # only at the end
  log_every=50,
)
print(f"F1 on dev: {scores['f1']:.3f}")

# %% [markdown]
# Predict for sentences of your own. Spans are characters, the end not included.

# %%
text = "The Eldra flows through Hvitdal, where Sigrun Eldrason sings."
entities = [(4, 9), (24, 31), (39, 54)]
found = types.predict([text] * len(entities), span=entities)
show.entities(text, [span for spans in found for span in spans])

# %% [markdown]
# The same with a released model: `hf download studio-ousia/luke-base --local-dir luke-base`, and
# `luke-base` in place of `data/sample_model`. Next: [your own named entities](your_own_ner.ipynb),
# or [all notebooks](README.md).
