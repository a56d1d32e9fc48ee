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
# # Chinese names in a cloze · 完形填空中的实体名
#
# [![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)](https://colab.research.google.com/github/luke-jax/luke_jax/blob/main/colab/chinese_cloze.ipynb)
#
# ERNIE 1.0 of Baidu (Sun et al., 2019) masks whole names, where BERT masks single characters, whose
# neighbours often give them away. You will have a small model, pretrained this way on a text of
# your making, that fills the names of capitals into a gap.
#
# 百度的 ERNIE 1.0 遮盖整个实体名，而 BERT 只遮盖单个汉字，旁边的字常常就泄露了答案。
# 本笔记本在一份自己生成的文本上预训练一个小模型，让它在空格里填出首都的名字。

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
# **A text**, with a sentence on each line, spaces between its phrases and an empty line between
# documents. It says where 23 capitals are, in several ways.
#
# **文本**：每行一句，词之间用空格分开，文档之间空一行。内容是 23 个国家的首都和所在的洲。

# %%
import random

FOLDER = Path("runs/notebooks/chinese")
CAPITALS = {
  "亚洲": "中国 北京 日本 东京 韩国 首尔 泰国 曼谷 越南 河内 伊朗 德黑兰 印度 新德里 蒙古 乌兰巴托",
  "欧洲": "法国 巴黎 德国 柏林 英国 伦敦 瑞士 伯尔尼 挪威 奥斯陆 希腊 雅典 芬兰 赫尔辛基",
  "美洲": "古巴 哈瓦那 秘鲁 利马 智利 圣地亚哥 加拿大 渥太华",
  "非洲": "埃及 开罗 加纳 阿克拉 肯尼亚 内罗毕 突尼斯 突尼斯市",
}
FORMS = (
  "{country} 的 首都 是 {capital} 。",
  "{capital} 是 {country} 的 首都 。",
  "{country} 位于 {continent} 。",
  "{capital} 在 {continent} 。",
  "他 从 {capital} 来 ， 是 {country} 人 。",
)
facts = {}
for continent, line in CAPITALS.items():
  names = line.split()
  facts |= {x: (y, continent) for x, y in zip(names[::2], names[1::2], strict=True)}
rng = random.Random(0)


def page():
  """Returns sentences on one country."""
  country = rng.choice(list(facts))
  capital, continent = facts[country]
  return [
    form.format(country=country, capital=capital, continent=continent)
    for form in rng.sample(FORMS, 3)
  ]


FOLDER.mkdir(parents=True, exist_ok=True)
pages = ["\n".join(page()) for _ in range(2000)]
(FOLDER / "text.txt").write_text("\n\n".join(pages), encoding="utf-8")
characters = sorted(set("".join(pages)) - set(" \n"))
pieces = ["[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]", *characters]
(FOLDER / "vocab.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8")
print(pages[0], len(characters), "characters")

# %% [markdown]
# **Instances**: pairs of neighbouring parts, with the places where phrases begin. Text without
# spaces takes `--segment jieba`; the folder of a wiki build takes its links as entities.
#
# **样本**：相邻的两段，并标出每个词从哪里开始。
# 没有空格的文本用 `--segment jieba`；维基的链接就是实体。

# %%
units = ["--tokenizer", str(FOLDER), "--words", "48", "--output", str(FOLDER / "units.gz")]
make = [sys.executable, "-m", "data.ernie_baidu.units", str(FOLDER / "text.txt"), *units]
print(subprocess.run(make, check=True, capture_output=True, text=True).stdout)

# %% [markdown]
# **Pretraining** with masks of phrases: a name is masked as a whole or not at all.
# `mixture` has the shares of texts that are masked by characters, by phrases and by entities.
#
# **预训练**：遮盖整词。`mixture` 是按字、按词、按实体遮盖的文本所占的比例。

# %%
import luke_jax
from luke_jax.pipeline.batches import Data
from luke_jax.systems.ernie_baidu import ErnieBaiduConfig
from luke_jax.systems.ernie_baidu.pretraining import UnitPretraining
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.optimizer import Optimizer, Schedule

experiment = Experiment(
  model=ErnieBaiduConfig(
    vocab_size=len(pieces),
    hidden_size=128,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=256,
    max_position_embeddings=50,
    initializer_range=0.05,  # it is for wider models that 0.02 is enough
  ),
  task=UnitPretraining(
    files=(str(FOLDER / "units.gz"),),
    text=str(FOLDER),
    levels=("phrase", "entity"),
    mixture=(0.0, 1.0, 0.0),
    words=48,
    masked=14,
    held_out=0.05,
  ),
  data=Data(batch_size=32, evaluation_batch_size=32),
  optimizer=Optimizer(learning_rate=2e-3, beta2=0.999, max_gradient_norm=1.0),
  schedule=Schedule(warmup_ratio=0.3),
  run=Run(steps=1000, evaluate_every=250, log_every=50),
)
model, scores, _ = luke_jax.train(experiment, FOLDER / "run")
print(f"masked characters predicted on held-out text: {scores['word_accuracy']:.1%}")

# %% [markdown]
# Dots are scores on text that was held out: masked characters, and whether the second part of a
# pair is the true one.
#
# 圆点是在留出文本上的得分。

# %%
from luke_jax import show

show.curves(FOLDER / "run", metrics=["loss", "word_accuracy", "next_accuracy"])

# %% [markdown]
# **The cloze.** A country is named, and all of its capital is a gap.
#
# **完形填空**：只给出国名，整个首都名都是空格。

# %%
from luke_jax.tasks.mask_predictions import predict_masks


def filled(country, capital):
  """Returns the name that the model puts into the gap."""
  text = f"{country}的首都是{'[MASK]' * len(capital)}。"
  masks = predict_masks(model, model.processor, text, top=1)
  return "".join(mask.guesses[0].name for mask in masks)


rows = [
  [f"{country}的首都是___。", capital, filled(country, capital)]
  for country, (capital, _) in facts.items()
]
print(f"{sum(right == found for _, right, found in rows)} of {len(rows)} to the last character")
show.table(["cloze", "true", "filled"], rows)

# %% [markdown]
# Each gap has its own probabilities. Here the second character of a capital is given.
#
# 每个空格都有各自的概率。这里给出首都名的第二个字。

# %%
(mask,) = predict_masks(model, model.processor, "法国的首都是[MASK]黎。", top=3)
show.table(["character", "probability"], [[x.name, f"{x.probability:.3f}"] for x in mask.guesses])

# %% [markdown]
# The same steps with the authors' weights or with your own texts, dialogues and wiki:
# [docs/ernie-baidu.md](../docs/ernie-baidu.md).
#
# 用作者发布的权重，或用自己的文本、对话和维基，步骤相同。
