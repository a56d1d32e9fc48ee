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
# **Check them first.** Every fault is reported with its line, and the labels are counted: a label
# that occurs once is often a typing error.

# %%
from luke_jax.cli import main  # the command luke-jax, in this process

for file in (TRAIN, DEV, TEST):
  assert main(["data", "check", file, "--task", "ner"]) == 0

# %% [markdown]
# This is what faults look like: columns in the wrong order, and a tag without its `B-` or `I-`.

# %%
faulty = Path("runs/notebooks/faulty.conll")
faulty.parent.mkdir(parents=True, exist_ok=True)
for lines in ("B-LOC Arkessa\nO is\nO old\n", "Arkessa LOC\nis O\nold O\n"):
  faulty.write_text(lines, encoding="utf-8")
  assert main(["data", "check", str(faulty), "--task", "ner"]) == 2

# %% [markdown]
# **Train.** The labels are those of the training file. LUKE scores all spans of up to
# `span_words` words of a sentence, so the fewer, the faster. Run this cell again after an
# interruption, and it resumes; for other settings, choose another `OUTPUT`.

# %%
import luke_jax

model, scores, _ = luke_jax.fine_tune(
  "ner",
  MODEL,
  train=TRAIN,
  dev=DEV,
  folder=OUTPUT,
  learning_rate=LEARNING_RATE,
  epochs=EPOCHS,
  span_words=5,
  words=64,
  entities=96,
  batch_size=4,
  log_every=50,
)
print(f"F1 on dev: {scores['f1']:.3f}")

# %% [markdown]
# The loss while it learned. Dots are scores on `DEV`.

# %%
from luke_jax import show

show.curves(f"{OUTPUT}/run")

# %% [markdown]
# **Score** on texts that it has not seen, with the mistakes that it was most certain of.

# %%
assert main(["evaluate", "ner", f"{OUTPUT}/run", TEST, "--mistakes", "3"]) == 0

# %% [markdown]
# **Use it** on any text. Longer ones are read in windows.

# %%
text = (
  "Lucella Brunetti-Vay was born in Castrel. In 2011 she signed for Tsukigawa Comets, and a year"
  " later she received the Bronze Boot in Hoshima."
)
found = model.predict(text)
for span in found:
  print(f"{span.start:4} {span.end:4}  {span.label:5} {span.score:.2f}  {span.text}")
show.entities(text, found)

# %% [markdown]
# **Keep it.** `OUTPUT/run/model` is a directory that PyTorch reads too
# ([how](pytorch_and_back.ipynb)). On Colab, put it where it outlives the session:
# `!cp -r {OUTPUT}/run/model /content/drive/MyDrive/`.
#
# **A real model.** `!hf download studio-ousia/luke-base --local-dir luke-base`, then
# `MODEL = "luke-base"`, `LEARNING_RATE, EPOCHS = 1e-5, 5`, another `OUTPUT`, and a runtime with a
# GPU or a TPU; leave out `span_words`, `words`, `entities` and `batch_size`, whose defaults are the
# paper's. Directories of BERT, RoBERTa and XLM-R work too.
