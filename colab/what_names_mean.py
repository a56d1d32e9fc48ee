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
# # What names mean
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/luke-jax/luke_jax/blob/main/colab/what_names_mean.ipynb)
#
# From a dump of a wiki to a linker that says which page a name means. You will have the wiki as
# tables, a trained linker with its scores, links of a text with what speaks for them, and an
# entity of your own.

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
# **A wiki, as tables.** Any dump of Wikipedia will do, or a folder of titled texts; this one is
# small and made up. `--until counts` stops before the records of pretraining, which a linker does
# not need.

# %%
from luke_jax.cli import main  # the command luke-jax, in this process

WIKI = "data/sample_wiki/samplewiki-pages-articles-multistream.xml.bz2"
ITEMS = "data/sample_wiki/wikidata-sample.json.bz2"
MODEL = "data/sample_model"  # or "english", see the end
OUTPUT = Path("runs/notebooks/linker")

build = ["wiki", "build", WIKI, "--tokenizer", "data/sample_wiki/tokenizer"]
assert main([*build, "--until", "counts", "--output", str(OUTPUT / "wiki")]) == 0
export = ["wiki", "export", str(OUTPUT / "wiki"), "--items", ITEMS]
assert main([*export, "--output", str(OUTPUT / "tables")]) == 0

# %% [markdown]
# A row is a sentence with its links: what they say, where they lead, and that page's item of
# Wikidata.

# %%
from luke_jax.wiki.export.read import read_sentences

sentence = next(x for x in read_sentences(OUTPUT / "tables", linked=True) if len(x.links) > 1)
print(sentence.title, "|", sentence.text)
for link in sentence.links:
  print(f"  {link.text} -> {link.target} ({link.target_item})")

# %% [markdown]
# **What there is to know.** A vector of each page's description, the names that may mean it, and
# paragraphs to learn from. A twentieth of the pages is held out: none of their links is counted.

# %%
describe = ["entities", "describe", str(OUTPUT / "tables"), "--model", MODEL]
if not (OUTPUT / "knowledge").exists():
  assert main([*describe, "--output", str(OUTPUT / "knowledge")]) == 0

# %% [markdown]
# **Train.** A few steps of a tiny model, which show how it is done and no more. Run this cell
# again after an interruption, and it goes on.

# %%
import luke_jax

model, scores, _ = luke_jax.fine_tune(
  "linking",
  MODEL,
  train=OUTPUT / "knowledge/train.jsonl",
  dev=OUTPUT / "knowledge/dev.jsonl",
  folder=OUTPUT / "run",
  knowledge=str(OUTPUT / "knowledge"),
  epochs=1,
)
for name in ("accuracy", "prior_accuracy", "recall_of_candidates"):
  print(f"{name:21} {scores[name]:.3f}")

# %% [markdown]
# **What the names of a text mean.** Each has a title, an item, a score, what else it may mean,
# and links of the wiki that say so.

# %%
text = "Marta Oduya painted Castrel."
for link in model.predict(text):
  print(f"{link.text}: {link.title} ({link.item}) {link.score:.2f}")
  for place in link.evidence:
    print(f"  as in sentence {place.sentence} of {place.title}")

# %% [markdown]
# **Your own entities** need a name and a description, and no training: the linker reads what an
# entity is from its description.

# %%
import json

own = {"name": "Nordvik", "description": "a firm that ships bearings", "aliases": ["Nordvik AS"]}
(OUTPUT / "own.jsonl").write_text(json.dumps(own) + "\n", encoding="utf-8")
add = ["entities", "own", str(OUTPUT / "knowledge"), str(OUTPUT / "own.jsonl"), "--model", MODEL]
if not (OUTPUT / "with_own").exists():
  assert main([*add, "--output", str(OUTPUT / "with_own")]) == 0
given = json.dumps({"text": "Nordvik AS is in Castrel.", "mentions": [[0, 10], [17, 24]]})
link = ["link", str(OUTPUT / "run/run"), given, "--knowledge", str(OUTPUT / "with_own")]
assert main(link) == 0

# %% [markdown]
# **A real one.** `!luke-jax get english`, then `MODEL = "english"`, a dump of your language for
# `WIKI` ([which ones](../docs/pretraining.md)) and another `OUTPUT`; leave `epochs` out. [How it
# decides, how well, and how to score it](../docs/howto/linking.md).
