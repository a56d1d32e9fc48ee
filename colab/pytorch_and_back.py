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
# # To PyTorch and back
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/luke-jax/luke_jax/blob/main/colab/pytorch_and_back.ipynb)
#
# A model's directory here is one of Hugging Face's, so converting is saving. You will have written
# one, read it in PyTorch, seen the two agree number by number, and read back what PyTorch wrote.

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
# Load a model and write it again: that is all of the conversion.

# %%
import luke_jax

model = luke_jax.load("data/sample_model")
model.save("runs/notebooks/for-pytorch")
for file in sorted(Path("runs/notebooks/for-pytorch").iterdir()):
  print(f"{file.stat().st_size:>9,}  {file.name}")

# %% [markdown]
# Nothing is lost on the way: read again, every array is the same to the bit.

# %%
import numpy as np

again = luke_jax.load("runs/notebooks/for-pytorch")
same = jax.tree.map(np.array_equal, model.params, again.params)
print(f"{sum(jax.tree.leaves(same))} of {len(jax.tree.leaves(same))} arrays are the same")

# %% [markdown]
# PyTorch is on Colab, and elsewhere optional.

# %%
from importlib.util import find_spec

pytorch = bool(find_spec("torch") and find_spec("transformers"))
if not pytorch:
  print("no torch or transformers here: pip install torch transformers, to run the cells below")

# %% [markdown]
# The parity report: both sides read the directory and run on the same sentences, and every
# layer, attention head and output is compared.

# %%
from luke_jax.cli import main  # the command luke-jax, in this process

if pytorch:
  report = ["--output", "runs/notebooks/parity.json"]
  assert main(["parity", "runs/notebooks/for-pytorch", *report]) == 0

# %% [markdown]
# In PyTorch it is loaded as any model of Hugging Face. Inputs have the same names, so those of one
# side are those of the other.

# %%
inputs = model.processor("She studied in Arkessa.", entity_spans=[(15, 22)])
ours = np.asarray(model(**inputs)["entity_logits"])

if pytorch:
  import torch
  from transformers import LukeForMaskedLM, LukeTokenizer

  theirs = LukeForMaskedLM.from_pretrained("runs/notebooks/for-pytorch").eval()
  with torch.no_grad():
    logits = theirs(**{name: torch.tensor(x) for name, x in inputs.items()}).entity_logits
  print("largest difference:", float(np.abs(ours - logits.numpy()).max()))

# %% [markdown]
# And back: what PyTorch trained and saved is loaded here. Instead of a training, some weights are
# changed by hand.

# %%
if pytorch:
  with torch.no_grad():
    theirs.luke.encoder.layer[0].attention.self.w2e_query.weight.mul_(1.5)
  theirs.save_pretrained("runs/notebooks/from-pytorch")
  LukeTokenizer.from_pretrained("runs/notebooks/for-pytorch").save_pretrained(
    "runs/notebooks/from-pytorch"
  )
  back = luke_jax.load("runs/notebooks/from-pytorch")
  moved = np.abs(np.asarray(back(**inputs)["entity_logits"]) - ours).max()
  print("read back; the change moved scores by up to", float(moved))

# %% [markdown]
# Smaller files: `bfloat16` halves them, and a lite model leaves out the entities that tasks such as
# NER never read. In a shell: `luke-jax convert SOURCE TARGET --lite --dtype bfloat16`.

# %%
from luke_jax.convert.text_side import lite

lite(model).save("runs/notebooks/lite", dtype="bfloat16")
for folder in ("for-pytorch", "lite"):
  size = Path(f"runs/notebooks/{folder}/model.safetensors").stat().st_size
  print(f"{size:>9,}  {folder}")

# %% [markdown]
# A BERT, RoBERTa or XLM-R goes both ways by the same lines. More:
# [docs/models.md](../docs/models.md), and [serving](../docs/howto/serving.md).
