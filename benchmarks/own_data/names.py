"""The plain command on a few hundred sentences with names, or a loop of PyTorch beside it.

    luke-jax get english
    python -m benchmarks.own_data.names TRAIN DEV TEST --seeds 3
    python -m benchmarks.own_data.names TRAIN DEV TEST --seeds 3 --pytorch FOLDER

The files have a word and its BIO tag a line, as CrossNER's and WNUT-17's. `--first N` reads the
first N sentences of TRAIN. Prints a line of JSON for each seed, and the mean F1 on TEST with its
deviation. FOLDER has the same model (`luke-jax doctor` prints where it is). The loop is what one
writes after the documents of transformers, with settings that suit such files: all parameters, 16
sentences padded to the longest of them, AdamW at 5e-4 with a tenth of warm-up and linear decay, ten
epochs, the last one scored.
"""

import argparse
import json
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from data.english.texts import Tagged, read_columns

BATCH, RATE, EPOCHS, PIECES = 16, 5e-4, 10, 256
Spans = set[tuple[int, int, int, str]]  # sentence, first word, the one after the last, label


def main() -> None:
  """Trains and scores with each seed."""
  parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
  for name in ("train", "dev", "test"):
    parser.add_argument(name, type=Path)
  parser.add_argument("--first", type=int, default=0)
  parser.add_argument("--seeds", type=int, default=3)
  parser.add_argument("--set", action="append", default=[])
  parser.add_argument("--pytorch", default="")
  options = parser.parse_args()
  scores = []
  with tempfile.TemporaryDirectory() as folder:
    train = cut(options.train, options.first, Path(folder)) if options.first else options.train
    for seed in range(options.seeds):
      began = time.perf_counter()
      if options.pytorch:
        score = of_pytorch(options.pytorch, train, options.test, seed)
      else:
        run = Path(folder) / str(seed)
        score = of_command(train, options, run, seed)
      seconds = round(time.perf_counter() - began, 1)  # scoring the test included
      print(json.dumps({"seed": seed, "f1": round(100 * score, 1), "seconds": seconds}), flush=True)
      scores.append(100 * score)
  deviation = statistics.stdev(scores) if len(scores) > 1 else 0.0
  print(f"{statistics.mean(scores):.1f} ± {deviation:.1f}")


def cut(path: Path, number: int, folder: Path) -> Path:
  """Returns a file of the first sentences of another."""
  # The lines between sentences of WNUT-17 have a tab.
  blocks = [x for x in re.split(r"\n\s*\n", path.read_text(encoding="utf-8")) if x.strip()]
  target = folder / path.name
  target.write_text("\n\n".join(blocks[:number]) + "\n", encoding="utf-8")
  return target


def of_command(train: Path, options: argparse.Namespace, run: Path, seed: int) -> float:
  """Returns the score of what `luke-jax train ner` makes of the files."""
  files = ["--train", str(train), "--dev", str(options.dev), "--model", "english"]
  settings = [x for value in (f"run.seed={seed}", *options.set) for x in ("--set", value)]
  luke_jax("train", "ner", *files, "--output", str(run), *settings)
  scores = luke_jax("evaluate", "ner", str(run), str(options.test)).splitlines()[-1]
  return float(json.loads(scores)["f1"])


def luke_jax(*arguments: str) -> str:
  """Returns what a command prints."""
  command = [sys.executable, "-m", "luke_jax", *arguments]
  return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def of_pytorch(directory: str, train: Path, test: Path, seed: int) -> float:
  """Returns the score of the loop."""
  import torch
  from transformers import AutoModelForTokenClassification, AutoTokenizer
  from transformers import get_linear_schedule_with_warmup as linear

  torch.manual_seed(seed)
  random.seed(seed)
  device = "cuda" if torch.cuda.is_available() else "cpu"
  sentences = list(read_columns(train))
  kinds = sorted({kind for x in sentences for *_, kind in x.spans})
  tags = ["O", *(f"{place}-{kind}" for kind in kinds for place in "BI")]
  tokenizer = AutoTokenizer.from_pretrained(directory)
  model = AutoModelForTokenClassification.from_pretrained(
    directory, num_labels=len(tags), dtype=torch.float32
  ).to(device)
  optimizer = torch.optim.AdamW(model.parameters(), RATE, weight_decay=0.01)
  steps = EPOCHS * -(-len(sentences) // BATCH)
  schedule = linear(optimizer, steps // 10, steps)
  for _ in range(EPOCHS):
    random.shuffle(sentences)
    for start in range(0, len(sentences), BATCH):
      chosen = sentences[start : start + BATCH]
      batch = tokenizer(
        [list(x.words) for x in chosen],
        is_split_into_words=True,
        truncation=True,
        max_length=PIECES,
        padding=True,
        return_tensors="pt",
      )
      labels = torch.full(batch["input_ids"].shape, -100)
      for row, sentence in enumerate(chosen):
        for piece, tag in zip(*first_pieces(batch.word_ids(row), sentence), strict=True):
          labels[row, piece] = tags.index(tag)
      loss = model(**batch.to(device), labels=labels.to(device)).loss
      loss.backward()
      torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
      optimizer.step()
      schedule.step()
      optimizer.zero_grad()
  return scored(model, tokenizer, tags, list(read_columns(test)))


def first_pieces(word_ids: Sequence[int | None], sentence: Tagged) -> tuple[list[int], list[str]]:
  """Returns the first piece of each word that the row has, and the word's tag."""
  tags = ["O"] * len(sentence.words)
  for first, end, kind in sentence.spans:
    tags[first:end] = [f"B-{kind}", *[f"I-{kind}"] * (end - first - 1)]
  pieces = [i for i, x in enumerate(word_ids) if x is not None and x != word_ids[i - 1]]
  return pieces, [tags[word_ids[i] or 0] for i in pieces]


def scored(model: Any, tokenizer: Any, tags: Sequence[str], sentences: Sequence[Tagged]) -> float:
  """Returns F1 of exact spans with their labels."""
  import torch

  model.eval()
  gold: Spans = set()
  predicted: Spans = set()
  for number, sentence in enumerate(sentences):
    gold |= {(number, *span) for span in sentence.spans}
    batch = tokenizer(
      [list(sentence.words)],
      is_split_into_words=True,
      truncation=True,
      max_length=PIECES,
      return_tensors="pt",
    ).to(model.device)
    pieces, _ = first_pieces(batch.word_ids(0), sentence)
    with torch.no_grad():
      best = model(**batch).logits[0].argmax(-1).tolist()
    predicted |= {(number, *span) for span in spans_of([tags[best[i]] for i in pieces])}
  right = len(gold & predicted)
  return 2 * right / max(1, len(gold) + len(predicted))


def spans_of(tags: Sequence[str]) -> list[tuple[int, int, str]]:
  """Returns the spans of BIO tags; an I without a beginning begins one, as conlleval has it."""
  spans: list[tuple[int, int, str]] = []
  for i, tag in enumerate(tags):
    kind = tag[2:]
    if tag.startswith("I-") and spans and spans[-1][1:] == (i, kind):
      spans[-1] = (spans[-1][0], i + 1, kind)
    elif tag != "O":
      spans.append((i, i + 1, kind))
  return spans


if __name__ == "__main__":
  main()
