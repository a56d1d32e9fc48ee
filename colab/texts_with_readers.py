# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#       jupytext_version: 1.19.6
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Texts with readers
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/luke-jax/luke_jax/blob/main/colab/texts_with_readers.ipynb)
#
# Two people say "the soup was good", and one gives four stars, the other three. You will have two
# models of ratings, one that knows who wrote a text and one that does not (MA-BERT, Zhang et al.,
# 2021), what each gets right, and a picture of the words that two users read differently.

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
# **The reviews** are invented. A text says one of four degrees; the rating is the degree, and one
# more if the user is generous, as half of the users are. So the text alone allows half of the
# ratings to be right, and no more.

# %%
from data.raters import generate

FOLDER = "runs/notebooks/raters"
generate.main(Path(FOLDER))
for line in Path(f"{FOLDER}/train.ss").read_text(encoding="utf-8").splitlines()[:4]:
  user, product, rating, text = line.split("\t\t")
  print(user, product, rating, text, sep="  ")

# %% [markdown]
# **Without attributes.** The settings are those of a row of
# [ma_bert.py](../experiments/ma_bert.py); each field can be changed.

# %%
import luke_jax

FILE = "experiments/ma_bert.py:raters"
files = [f"task.{split}={FOLDER}/{split}.ss" for split in ("train", "dev", "test")]
changes = [*files, f"task.text={FOLDER}", "run.epochs=4", "run.evaluate_every=47"]
_, scores, _ = luke_jax.train(FILE, f"{FOLDER}/alone", set=[*changes, "task.attributes.names="])
print(f"accuracy on dev, from the text alone: {scores['accuracy']:.1%}")

# %% [markdown]
# **With attributes.** A layer on the encoder whose attention is conditioned on user and product.
# The products say nothing here, and the model has to find that out too.

# %%
model, scores, _ = luke_jax.train(FILE, f"{FOLDER}/readers", set=changes)
print(f"accuracy on dev, with user and product: {scores['accuracy']:.1%}")

# %% [markdown]
# It learns in a leap: attributes are of no use until the words are understood.

# %%
from luke_jax import show

show.curves(f"{FOLDER}/readers", metrics=["loss", "accuracy"])

# %% [markdown]
# **One text, two users.** `user01` is generous and `user02` is not.

# %%
text = "a friend told me of it . i found the coffee superb ."
users = [{"user": user, "product": "product03"} for user in ("user01", "user02")]
columns = {name: [user[name] for user in users] for name in ("user", "product")}
for user, answer in zip(users, model.predict([text] * 2, **columns), strict=True):
  print(user["user"], answer.label, f"{answer.scores[answer.label]:.2f}")

# %% [markdown]
# The words, as dark as the first token attends to them when the rating is read from it.

# %%
show.readings(model, text, users)

# %% [markdown]
# **A new user** is read as unknown, and a warning says so. In training a tenth of the users were
# read as unknown, so the model gives its best guess.

# %%
answer = model.predict(text, user="someone else", product="product03")
print(answer.label, f"{answer.scores[answer.label]:.2f}")

# %% [markdown]
# Your own texts: lines of JSON with a field for each attribute, under any name, and
# `luke-jax train classification --set task.attributes.names=user,place`. The layers stand on every
# encoder of the house: [docs/ma-bert.md](../docs/ma-bert.md).
