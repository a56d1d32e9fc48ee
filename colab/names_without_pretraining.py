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
# # Names without a pretrained model
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/luke-jax/luke_jax/blob/main/colab/names_without_pretraining.ipynb)
#
# TENER reads whole words and their letters, and its attention knows which way and how far another
# word is. You will have one, made from nothing but tagged sentences, its scores, a look at what
# direction and distance do, and the plain transformer beside it.

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
# **A model that knows nothing yet.** Its words are those of the training file, its sizes those that
# the authors used for Weibo: one layer, four heads. Everything is random.

# %%
from luke_jax.cli import main  # the command luke-jax, in this process

FILES = "data/sample_tasks/ner"
TRAIN, DEV, TEST = (f"{FILES}/{split}.conll" for split in ("train", "dev", "test"))
FOLDER = "runs/notebooks/tener"
assert main(["new", f"{FOLDER}/fresh", "--train", TRAIN, "--size", "tener-weibo"]) == 0

# %% [markdown]
# **Train.** The authors train for 100 epochs by SGD; three epochs of AdamW are enough to see it
# learn. A warning counts the words of `DEV` that the model does not know. Such a word is not lost:
# the model reads its letters.

# %%
import warnings

import luke_jax

warnings.simplefilter("once")


def learnt(encoder):
  """Returns the model with one of the two forms of attention, and its F1 on DEV."""
  model, scores, _ = luke_jax.fine_tune(
    "tagging",
    f"{FOLDER}/fresh",
    train=TRAIN,
    dev=DEV,
    folder=f"{FOLDER}/{encoder}",
    encoder=encoder,
    kind="adamw",
    learning_rate=2e-3,
    epochs=3,
    words=64,
    lengths=1,  # one length for all rows: less to compile
    log_every=50,
  )
  return model, scores["f1"]


tener, f1 = learnt("adatrans")
print(f"F1 on dev: {f1:.1%}")

# %% [markdown]
# The loss while it learned, and the score after each epoch.

# %%
from luke_jax import show

show.curves(f"{FOLDER}/adatrans/run", metrics=["loss", "f1"])

# %% [markdown]
# **Score** on sentences that it has not seen. Organisations are the hardest: many are named after a
# place or a person, as Skarholm Rovers are, and only the words around them say which is meant.

# %%
assert main(["evaluate", "tagging", f"{FOLDER}/adatrans/run", TEST, "--mistakes", "3"]) == 0

# %% [markdown]
# **Use it.** Words are what stands between spaces, so a full stop has one before it. The first line
# lists the words that the vocabulary lacks. The model is less sure of a name of such words.

# %%
text = "Vessa Orlandine was born in Castrel and signed for Tsukigawa Comets in 2011 ."
vocabulary = tener.tokenizer.vocabularies.words
print("unknown:", [word for word in text.split() if word not in vocabulary])
found = tener.predict(text)
print([(span.text, span.label, round(span.score, 2)) for span in found])
show.entities(text, found)

# %% [markdown]
# **Tags.** The name of a place is `S-LOC` if it is one word, else `B-LOC`, any number of `I-LOC`,
# and `E-LOC`: the scheme BIOES. The conditional random field has a score for each pair of
# neighbours, from the tag at the left to the one above. Where there is a dash, the pair is illegal
# and no predicted path has it.

# %%
import numpy as np

from luke_jax.tasks.tagging.task import legal_neighbours

legal = legal_neighbours(tener.labels, "BIOES")
learned = np.asarray(tener.params["crf"]["transitions"])
shown = [n for n, tag in enumerate(tener.labels) if tag == "O" or tag.endswith(("LOC", "PER"))]
tags = [tener.labels[n] for n in shown]
rows = [
  [tener.labels[i], *(f"{learned[i, j]:+.1f}" if legal[i][j] else "–" for j in shown)]
  for i in shown
]
show.table(["from", *tags], rows)

# %% [markdown]
# What the chain is for: below are the best tag of each word alone, and the best legal path. In how
# many sentences of `TEST` do words alone give tags that cannot follow each other?

# %%
from luke_jax.tasks.ner.tags import illegal

parts = Path(TEST).read_text(encoding="utf-8").strip().split("\n\n")
sentences = [
  " ".join(line.split()[0] for line in part.split("\n"))
  for part in parts
  if not part.startswith("-DOCSTART-")
]


def tags_alone(texts):
  """Returns the likeliest tag of each word, whatever its neighbours have."""
  logits = tener(**tener.processor(texts))["logits"]
  return [
    [tener.labels[number] for number in row[1 : 1 + len(words.split())].argmax(-1)]
    for words, row in zip(texts, logits, strict=True)
  ]


(alone,) = tags_alone([text])
show.table(["word", "alone", "path"], list(zip(text.split(), alone, found.tags, strict=True)))

# %%
paths = [list(answer.tags) for answer in tener.predict(sentences)]
for name, lists in (("alone", tags_alone(sentences)), ("in a path", paths)):
  faulty = sum(any(illegal(tags, "BIOES")) for tags in lists)
  print(f"{name}: {faulty} of {len(sentences)} sentences have illegal tags")

# %% [markdown]
# **Direction and distance.** How much of the attention goes how far? One row for each head, the
# mean over 40 sentences of `TEST`; -1 is the word before, +1 the next one. Heads have learnt to
# look one way: one at the next word, another one at the word before.

# %%
from luke_jax.show.heat_maps import attention_of

DISTANCES = range(-4, 5)


def by_distance(model):
  """Returns the shares of attention (heads, distances), without the ends of the rows."""
  shares = np.zeros((model.config.num_attention_heads, len(DISTANCES)))
  for head, sums in enumerate(shares):
    for sentence in sentences[:40]:
      weights = attention_of(model, sentence, head=head).weights[1:-1, 1:-1]
      sums += [np.trace(weights, offset) / len(weights) / 40 for offset in DISTANCES]
  return shares


def drawn(shares):
  """Returns a table of shares in percent."""
  rows = [[head, *(f"{share:.0%}" for share in row)] for head, row in enumerate(shares)]
  return show.table(["head", *(f"{offset:+d}" if offset else "0" for offset in DISTANCES)], rows)


shares = by_distance(tener)
drawn(shares)

# %% [markdown]
# The head that looks at the next word most, on one sentence. Rows are the words that look, columns
# those that are looked at: its weight lies right of the diagonal. The ends of the row are not read.

# %%
forward = int(shares[:, DISTANCES.index(1)].argmax())
show.attention(tener, text, head=forward)

# %% [markdown]
# And the one that looks at the word before most.

# %%
backward = int(shares[:, DISTANCES.index(-1)].argmax())
show.attention(tener, text, head=backward)

# %% [markdown]
# **The plain transformer.** One field differs: with `encoder="transformer"` the model has the
# attention of BERT, and positions are added to the words. It starts from the same random words and
# letters.

# %%
plain, plain_f1 = learnt("transformer")
print(f"F1 on dev: {f1:.1%} by direction and distance, {plain_f1:.1%} by the plain transformer")
drawn(by_distance(plain))

# %% [markdown]
# Its heads look to both sides alike, most of all at the word itself: which way a word lies is hard
# to learn from absolute positions. One run on sample data proves nothing about scores, so the
# [experiments](../experiments/tener.sh) compare the two on real data with several seeds.
#
# **Your own names.** Put your files in the place of `TRAIN`, `DEV` and `TEST`
# ([formats](../docs/tener.md#files)), leave out `kind`, `learning_rate` and `epochs` for the
# settings of the authors, and give `luke-jax new` vectors of words (`--vectors glove.6B.100d.txt`),
# or `--characters --bigrams` for Chinese. Where a pretrained model reads your language,
# [your_own_ner](your_own_ner.ipynb) will find more names.
