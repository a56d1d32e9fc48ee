"""Measures names in long texts.

    python -m data.english.pages join TEXTS DOCUMENTS 30 100  # 30 sentences from every hundredth on
    luke-jax evaluate ner english/ner DOCUMENTS
    python -m data.english.pages time english/ner 500 4000 1000000

TEXTS and DOCUMENTS are lines of JSON with `text` and gold `spans`. `time` prints processor seconds
for texts of so many characters, the sentences of `sample` again and again: the first time, with
compiling, and the best of several; bind it to one core with `taskset -c 1`.
"""

import itertools
import json
import resource
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .beside import Example, read
from .cut import SAMPLE

TIMES, LONG = 5, 20_000  # a longer text is read once


def joined(examples: Sequence[Example]) -> dict[str, Any]:
  """Returns a document of several examples, each of which is a sentence of it."""
  text, sentences, spans = "", [], []
  for example in examples:
    start = len(text) + bool(text)
    text = f"{text} {example['text']}".strip()
    sentences.append([start, len(text)])
    spans += [[first + start, last + start, label] for first, last, label in example["spans"]]
  return {"text": text, "sentences": sentences, "spans": spans}


def join(texts: str, documents: str, sentences: str, step: str) -> None:
  """Writes documents of so many examples of a file in a row, one from each step-th example."""
  examples, size = read(Path(texts)), int(sentences)
  starts = range(0, len(examples) - size + 1, int(step))
  lines = (json.dumps(joined(examples[start : start + size])) + "\n" for start in starts)
  Path(documents).write_text("".join(lines), encoding="utf-8")


def text_of(length: int) -> str:
  """Returns a text of so many characters."""
  sentences = itertools.cycle(str(x["text"]) for x in read(SAMPLE / "ner" / "test.jsonl"))
  parts, size = [], 0
  while size <= length:
    parts.append(next(sentences))
    size += len(parts[-1]) + 1
  return " ".join(parts)[:length]


def measure(model: str, *lengths: str) -> None:
  """Prints the seconds that texts of these lengths take, and the memory of the process."""
  import luke_jax

  names = luke_jax.load(model)
  for length in map(int, lengths):
    text, seconds = text_of(length), []
    for _ in range(TIMES if length < LONG else 1):
      start = time.process_time()
      found: Any = names.predict(text)
      seconds.append(time.process_time() - start)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(
      f"{length:,} characters: {seconds[0]:.2f} s the first time, {min(seconds):.3f} s at best,"
      f" {len(found)} names, at most {memory} MiB"
    )


if __name__ == "__main__":
  {"join": join, "time": measure}[sys.argv[1]](*sys.argv[2:])
