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
# pretraining with its curves, and the model's predictions for masked entities. The sample is a wiki
# of an invented world; any dump that MediaWiki writes (`pages-articles`) takes the same steps.

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
# **Your dump.** Its file, and the directory of the tokenizer that the model is to have. For a dump
# of your own use RoBERTa's, and more entities than 300.

# %%
DUMP = "data/sample_wiki/samplewiki-pages-articles-multistream.xml.bz2"
TOKENIZER = "data/sample_wiki/tokenizer"
ENTITIES = 300
OUTPUT = "runs/notebooks/wiki"
STEPS = 1000  # the sample's whole pretraining is 1,500, in a minute and a half

# %% [markdown]
# **Records.** Pages lose their markup, links become entities, sentences are packed. The table lists
# what was read, and what was dropped and why.

# %%
from luke_jax.cli import main  # the command luke-jax, in this process

sizes = f"--entities {ENTITIES} --max-words 48 --max-entities 16 --unknown-entities skip".split()
assert main(["wiki", "build", DUMP, "--tokenizer", TOKENIZER, *sizes, "--output", OUTPUT]) == 0

# %% [markdown]
# Look at records before you train: entities are marked in their words.

# %%
assert main(["wiki", "show", OUTPUT, "--n", "2"]) == 0

# %% [markdown]
# **Pretraining.** Words and entities are masked, and the model predicts them. The settings are
# those of a row of [pretraining.py](../experiments/pretraining.py); each field can be changed.

# %%
import luke_jax

changes = [f'task.corpora=["{OUTPUT}/pretraining"]', f"model.entity_vocab_size={ENTITIES}"]
changes += [f"run.steps={STEPS}", "run.evaluate_every=250", "run.save_every=250"]
model, scores, _ = luke_jax.train(
  "experiments/pretraining.py:tiny", "runs/notebooks/pretraining", set=changes
)
print(f"masked entities predicted: {scores['entity_accuracy']:.1%}")

# %% [markdown]
# `entity_accuracy` is measured on pages that were held out; `entity_majority` is the share of the
# most frequent entity. So few steps are a beginning: set `STEPS` to 1500 for more than half of
# them.

# %%
from luke_jax import show

curves = ["loss", "entity_accuracy", "entity_majority"]
show.curves("runs/notebooks/pretraining", metrics=curves)

# %% [markdown]
# **The model** of the best checkpoint is saved as a directory. Tasks start from it as from any
# other.

# %%
model.save("runs/notebooks/wiki-luke")
model

# %% [markdown]
# Its predictions for masked entities, and those of `data/sample_model`, which was trained longer.

# %%
from luke_jax.tasks.mask_predictions import predict_masks

text, spans = "She studied in Arkessa and won the Golden Inkwell.", [(15, 22), (35, 49)]
longer = luke_jax.load("data/sample_model")
rows = [
  [name, text[slice(*mask.characters)], guess.name, guess.probability]
  for name, one in (("this one", model), ("sample_model", longer))
  for mask in predict_masks(one, one.processor, text, spans=spans, top=2)
  for guess in mask.guesses
]
show.table(["model", "in the text", "predicted", "probability"], rows)

# %% [markdown]
# Wikipedia's dump and the paper's recipe on TPUs, and a start from RoBERTa or BERT:
# [docs/pretraining.md](../docs/pretraining.md).
