"""Benchmark of a corpus: names in many sentences, beside transformers' pipeline and spaCy's pipe.

    pip install '.[parity,spacy]'
    python -m benchmarks corpus --texts SENTENCES --number 20000

SENTENCES is a file of JSON lines with `text`. Each side is a command of its own, with its start,
that reads two files and writes the names: `luke-jax predict ner english/ner` with `--workers 2`, a
pipeline of transformers over the same MiniLM with batches of 32, and `nlp.pipe` in two processes
over a network of the sizes of spaCy's small English model. The last two have random weights in
what finds names.
"""

import dataclasses
import resource
import subprocess
import sys
import tempfile
import time
from typing import Any

from rich.table import Table

from benchmarks.figures import print_figures
from benchmarks.timing import imported
from luke_jax.cli.process import stderr_console
from luke_jax.convert.published import published
from luke_jax.errors import InputError
from luke_jax.files import Path, check_place, cores_and_processor

TEXTS = "data/english/sample/relations/train.jsonl"
READ = """import json, sys
texts = [json.loads(line)["text"] for file in sys.argv[1:3] for line in open(file)]
"""
WRITE = """
with open(sys.argv[3], "w") as file:
  for names in found:
    file.write(json.dumps(names) + "\\n")
"""
PIPELINE = """from transformers import AutoModelForTokenClassification, AutoTokenizer, pipeline
model = AutoModelForTokenClassification.from_pretrained(sys.argv[4], num_labels=9)
words = AutoTokenizer.from_pretrained(sys.argv[4])
named = pipeline("token-classification", model, tokenizer=words, aggregation_strategy="simple")
found = [[(x["start"], x["end"], x["entity_group"]) for x in names]
         for names in named(texts, batch_size=32)]
"""
# The sizes of en_core_web_sm.
SPACY = """import spacy
rows = {"@architectures": "spacy.MultiHashEmbed.v2", "width": 96, "rows": [5000, 1000, 2500, 2500],
        "attrs": ["NORM", "PREFIX", "SUFFIX", "SHAPE"], "include_static_vectors": False}
layers = {"@architectures": "spacy.MaxoutWindowEncoder.v2", "width": 96, "depth": 4,
          "window_size": 1, "maxout_pieces": 3}
states = {"@architectures": "spacy.Tok2Vec.v2", "embed": rows, "encode": layers}
nlp = spacy.blank("en")
names = nlp.add_pipe("ner", config={"model": {
  "@architectures": "spacy.TransitionBasedParser.v2", "state_type": "ner", "hidden_width": 64,
  "extra_state_tokens": False, "maxout_pieces": 2, "use_upper": True, "tok2vec": states}})
for number in range(18):
  names.add_label(str(number))
nlp.initialize()
found = [[(x.start_char, x.end_char, x.label_) for x in doc.ents]
         for doc in nlp.pipe(texts, n_process=2, batch_size=256)]
"""


@dataclasses.dataclass(frozen=True)
class CorpusTimes:
  """Measurements of one run."""

  machine: str
  versions: dict[str, str]
  texts: int
  seconds: dict[str, list[float]]  # of the clock, by side and round
  processor: dict[str, list[float]]  # of all processes


def commands(files: list[str], folder: Path) -> dict[str, list[str]]:
  """Returns the command of each side; those of others are scripts for this interpreter."""
  peers = {"transformers": PIPELINE, "spacy": SPACY}
  ours = [sys.executable, "-m", "luke_jax", "predict", "ner", "english/ner", *files]
  found = {"luke_jax": [*ours, "--output", f"{folder}/ours", "--workers", "2"]}
  for name, script in peers.items():
    source = READ + script + WRITE
    if name == "spacy":  # its workers import the script again
      body = source.partition("\n")[2].replace("\n", "\n  ")
      source = f"import json, sys\nif __name__ == '__main__':\n  {body}"
    path = folder / f"with_{name}.py"
    path.write_text(source)
    found[name] = [sys.executable, str(path), *files, f"{folder}/{name}", str(published("english"))]
  return found


def timed(command: list[str]) -> tuple[float, float]:
  """Returns the seconds of a command by the clock, and those of its processes."""
  before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
  done = subprocess.run(command, capture_output=True, text=True, check=False)
  if done.returncode:
    raise InputError(f"{' '.join(command[:3])}: {done.stderr.strip()[-500:]}")
  wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
  used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
  return wall, used


def main(
  *, texts: Path = Path(TEXTS), number: int = 2000, rounds: int = 2, output: Path | None = None
) -> None:
  """Times names in a corpus beside transformers' pipeline and spaCy, each by its command, in turn.

      python -m benchmarks corpus --texts sentences.jsonl --number 20000

  Args:
    texts: File of JSON lines with `text`.
    number: Texts of it that are read.
    rounds: Of each side.
    output: File for the figures as JSON.
  """
  if output:
    check_place(output)
  transformers, spacy, torch = imported("transformers", "spacy", "torch")
  lines = texts.read_text(encoding="utf-8").splitlines(keepends=True)[:number]
  seconds: dict[str, list[float]] = {}
  processor: dict[str, list[float]] = {}
  for _ in range(rounds):
    with tempfile.TemporaryDirectory() as place:
      folder = Path(place)
      for half in range(2):
        (folder / f"{half}.jsonl").write_text("".join(lines[half::2]), encoding="utf-8")
      files = [f"{place}/{half}.jsonl" for half in range(2)]
      for name, command in commands(files, folder).items():
        with stderr_console().status(name):
          wall, used = timed(command)
        seconds.setdefault(name, []).append(wall)
        processor.setdefault(name, []).append(used)
  versions = {x.__name__: x.__version__ for x in (transformers, spacy, torch)}
  result = CorpusTimes(cores_and_processor(), versions, len(lines), seconds, processor)
  table = Table(
    "", "texts/s", "processor seconds", "a million in hours", title=f"{len(lines):,} texts"
  )
  summary: dict[str, Any] = {}
  for name, walls in seconds.items():
    rate = len(lines) / min(walls)
    table.add_row(name, f"{rate:.0f}", f"{min(processor[name]):.0f}", f"{1e6 / rate / 3600:.1f}")
    summary[f"{name}/texts_per_second"] = round(rate, 1)
  about = ", ".join([result.machine, *(f"{name} {x}" for name, x in versions.items())])
  print_figures(result, summary, [table], about, output=output)
