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
# # Your own named entities
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/luke-jax/luke_jax/blob/main/colab/your_own_ner.ipynb)
#
# From files with your own labels to a model that finds them in any text. You will have checked
# data, a fine-tuned LUKE, its scores, its mistakes and its predictions in colour. As it stands it
# runs on sample data; change the first cell below, and it runs on yours.

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
# **Your files.** A word and its tag on each line, an empty line after each sentence
# (`.conll`; IOB1, IOB2 or BIOES), or JSON lines with `text` and `spans`
# ([formats](../docs/tasks.md)). In Colab, drop them into the panel of files at the left and write
# `/content/train.conll`; or set `DRIVE = True` and write `/content/drive/MyDrive/…`.

# %%
TRAIN = "data/sample_tasks/ner/train.conll"
DEV = "data/sample_tasks/ner/dev.conll"
TEST = "data/sample_tasks/ner/test.conll"
MODEL = "data/sample_model"  # or "luke-base", see the end
OUTPUT = "runs/notebooks/names"
DRIVE = False

# The sample model is tiny and learns at this rate; luke-base wants 1e-5 and 5 epochs.
LEARNING_RATE, EPOCHS = 3e-3, 1

if DRIVE:
  from google.colab import drive

  drive.mount("/content/drive")

# %% [markdown]
# **Check them first.** Every fault is told with its line, and the labels are counted: a label that
# is there once is often a typing error.

# %%
for file in (TRAIN, DEV, TEST):
  luke(f"data check '{file}' --task ner")

# %% [markdown]
# This is what a fault looks like: columns in the wrong order, and a tag without its `B-` or `I-`.

# %%
Path("runs/notebooks").mkdir(parents=True, exist_ok=True)
Path("runs/notebooks/order.conll").write_text("B-LOC Arkessa\nO is\nO old\n", encoding="utf-8")
luke("data check runs/notebooks/order.conll --task ner", status=2)

# %%
Path("runs/notebooks/tag.conll").write_text("Arkessa LOC\nis O\nold O\n", encoding="utf-8")
luke("data check runs/notebooks/tag.conll --task ner", status=2)

# %% [markdown]
# **Train.** The labels are those of the training file. LUKE looks at all spans of up to
# `span_words` words of a sentence, so the fewer, the faster. Run this cell again after an
# interruption, and it goes on; for other settings, choose another `OUTPUT`.

# %%
luke(f"""
  train ner --train '{TRAIN}' --dev '{DEV}' --model '{MODEL}' --output '{OUTPUT}'
  --set optimizer.learning_rate={LEARNING_RATE} --set run.epochs={EPOCHS}
  --set task.span_words=5 --set task.entities=256 --set data.batch_size=4
  --set run.log_every=50
""")

# %% [markdown]
# How did it go? Dots are scores on the files of `DEV`.

# %%
from luke_jax import show

show.curves(OUTPUT)

# %% [markdown]
# **Score** on texts that it has not seen, and its surest mistakes.

# %%
luke(f"evaluate ner '{OUTPUT}' '{TEST}' --mistakes 3")

# %% [markdown]
# **Use it** on any text. Longer ones are read in windows.

# %%
import luke_jax

model = luke_jax.load(f"{OUTPUT}/model")
text = (
  "Lucella Brunetti-Vay was born in Castrel. In 2011 she signed for Tsukigawa Comets, and a year"
  " later she received the Bronze Boot in Hoshima."
)
found = model.predict(text)
for span in found:
  print(f"{span.start:4} {span.end:4}  {span.label:5} {span.score:.2f}  {span.text}")
show.entities(text, found, labels=model.labels)

# %% [markdown]
# **Keep it.** `OUTPUT/model` is a directory that PyTorch reads too
# ([how](pytorch_and_back.ipynb)). On Colab, put it where it outlives the session:
# `!cp -r {OUTPUT}/model /content/drive/MyDrive/`.
#
# **A real model.** `!hf download studio-ousia/luke-base --local-dir luke-base`, then
# `MODEL = "luke-base"`, `LEARNING_RATE, EPOCHS = 1e-5, 5`, another `OUTPUT`, and a runtime with a
# GPU or a TPU; leave out what is set of `task` and `data`.
