"""Times of the stages from a dump to a linker's knowledge on one core, and those of a large wiki.

    luke-jax get english
    python -m benchmarks.linkers.stage_times enwiki-part.xml.bz2 --gigabytes 100 --pages 6500000

Vectors take time by the pages, all else by the bytes of XML; of a large wiki's pages examples and
counts take as many as of a small one's.
"""

import argparse
import functools
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.timing import one_core
from luke_jax.convert.published import published
from luke_jax.files import Path, cores_and_processor
from luke_jax.inference import describing
from luke_jax.wiki.export.export import export
from luke_jax.wiki.export.read import read_sentences
from luke_jax.wiki.read.dump_files import chunks
from luke_jax.wiki.stages.build import build
from luke_jax.wiki.stages.engines import local
from luke_jax.wiki.stages.sources import Settings

VECTORS, EXAMPLES = "vectors", 20000
PARTS = {"_Wiki": "names", "encode": VECTORS, "write_knowledge": "files"}


def timed(seconds: dict[str, float], name: str, call: Callable[..., Any]) -> Callable[..., Any]:
  """Returns a function that adds its processor time to a stage's."""

  @functools.wraps(call)
  def timing(*arguments: Any, **named: Any) -> Any:
    before = time.process_time()
    result = call(*arguments, **named)
    seconds[name] += time.process_time() - before
    return result

  return timing


def main() -> None:
  """Runs all stages on a dump and prints a row of a table for each."""
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("dump", type=Path)
  parser.add_argument("--gigabytes", type=float, default=100)
  parser.add_argument("--pages", type=float, default=6.5e6)
  options = parser.parse_args()
  seconds: dict[str, float] = defaultdict(float)
  size = sum(len(data) for data, _ in chunks(options.dump, 0, options.dump.stat().st_size))
  start = published("english")
  with one_core(), tempfile.TemporaryDirectory() as place, local(1) as engine:

    def timing_engine(run: Callable[[int], None], shards: Sequence[int]) -> None:
      work: Any = run
      timed(seconds, work.stage.name, engine)(run, shards)

    folder = Path(place)
    build(Settings((options.dump,), start), folder / "build", timing_engine, until="counts")
    export(folder / "build", folder / "tables", timing_engine)
    encode, texts = describing.encode, []

    def encode_again(model: Any, some: Sequence[str]) -> Any:
      texts.extend(some)
      encode(model, some)  # compiles
      return timed(seconds, VECTORS, encode)(model, some)

    describing._Wiki.meanings = timed(seconds, "names", describing._Wiki.meanings)
    for name, stage in PARTS.items():
      setattr(describing, name, timed(seconds, stage, getattr(describing, name)))
    describing.encode = encode_again
    reading = describing._Reading
    reading.write_examples = timed(seconds, "examples", reading.write_examples)
    describing.describe(folder / "tables", start, folder / "known", engine, examples=EXAMPLES)
    timed(seconds, "reading of sentences", lambda x: len(list(read_sentences(x))))(
      folder / "tables"
    )
  print(f"{cores_and_processor()}; {size / 1e6:.1f} MB of XML, {len(texts)} described pages")
  chosen = seconds["examples"] - seconds["reading of sentences"]
  most = describing.COUNTED + describing.SCORED + EXAMPLES / describing.OF_A_PAGE
  pages = {VECTORS: options.pages, "examples": min(most, options.pages)}
  seconds["examples"] = max(0, chosen)
  for stage, spent in seconds.items():
    by_bytes = options.gigabytes * 1e9 / size
    share = pages[stage] / len(texts) if stage in pages else by_bytes
    print(f"| {stage} | {spent:.2f} s | {spent * share / 3600:.1f} h |")


if __name__ == "__main__":
  main()
