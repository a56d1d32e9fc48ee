"""A linker over millions of entities with random vectors: how soon it starts, memory and speed.

    python benchmarks/linkers/millions.py runs/linker/model many --entities 6000000

The knowledge is made once, in twice its size of memory; the same command measures it again.
"""

import argparse
import random
import time

import numpy as np

import luke_jax
from luke_jax.files import Path
from luke_jax.inference.settings import task_of
from luke_jax.tasks.linking.knowledge import MANIFEST, write_knowledge
from luke_jax.tasks.linking.names import KEPT_PLACES, NONE, Meanings, key_of

ALIKE = 8  # entities of an ambiguous name
AT_ONCE = 500_000
WORDS = "the a of in was were man town river sailed built when first second then their it"


def make(folder: Path, entities: int, width: int) -> None:
  """Writes knowledge of so many entities; each has a title, and eight share a name."""
  line = '{{"title": "Page {0} of it", "description": "the page {0}", "item": "Q{0}"}}\n'
  lines = [line.format(i).encode() for i in range(entities)]
  rng, vectors = np.random.default_rng(0), np.empty((entities, width), np.float16)
  for first in range(0, entities, AT_ONCE):
    part = vectors[first : first + AT_ONCE]
    part[:] = rng.standard_normal(part.shape, dtype=np.float32)
  keys = [key_of(f"Page {i} of it") for i in range(entities)]
  keys += [key_of(f"Name{i // ALIKE}") for i in range(entities)]
  ones = np.ones(2 * entities, np.float32)
  ids = np.tile(np.arange(entities, dtype=np.int32), 2)
  evidence = np.full((2 * entities, KEPT_PLACES, 3), NONE, np.int32)
  meanings = Meanings(np.array(keys, np.uint64), ids, ones, ones, evidence)
  write_knowledge(folder, lines, (vectors,), meanings, {"tables": "random"})


def text(rng: random.Random, entities: int, words: int = 500) -> str:
  """Returns a text of so many words, of which one in 14 begins a name."""
  made: list[str] = []
  while len(made) < words:
    made += rng.choices(WORDS.split(), k=12)
    number = rng.randrange(entities)
    made += [f"Name{number // ALIKE}"] if rng.random() < 0.7 else f"Page {number} of it".split()
  return " ".join(made[:words])


def memory() -> dict[str, int]:
  """Returns the megabytes of this process, and those of them that are files."""
  lines = Path("/proc/self/status").read_text().splitlines()
  fields = dict(line.split(":", 1) for line in lines)
  return {name: int(fields[name].split()[0]) // 1024 for name in ("VmHWM", "RssFile")}


def main() -> None:
  """Makes the knowledge if it is not there, and links twenty texts three times."""
  begun = time.perf_counter()
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("model", type=Path)
  parser.add_argument("knowledge", type=Path)
  parser.add_argument("--entities", type=int, default=6_000_000)
  parser.add_argument("--texts", type=int, default=20)
  options = parser.parse_args()
  model = luke_jax.load(options.model)
  if not (options.knowledge / MANIFEST).exists():
    extra = task_of(model).extra_inputs[0].shapes(model.backbone, 8)
    make(options.knowledge, options.entities, next(iter(extra.values())).shape[-1])
    print("made; the same command again measures it")
    return
  rng = random.Random(0)
  texts = [text(rng, options.entities) for _ in range(options.texts)]
  changes = {"knowledge": options.knowledge, "threshold": 0.0}
  model.predict(texts[0][:60], **changes)
  print(f"first answer after {time.perf_counter() - begun:.1f} s without imports: {memory()}")
  for _ in range(3):
    before, processor = time.perf_counter(), time.process_time()
    links = sum(map(len, model.predict(texts, **changes)))
    seconds, spent = time.perf_counter() - before, time.process_time() - processor
    print(
      f"{len(texts)} texts, {links} links: {seconds:.1f} s ({spent:.1f} of processors), {memory()}"
    )


if __name__ == "__main__":
  main()
