"""The plain command on so many examples, by task, with all parameters and with adapters.

    luke-jax get english
    python -m benchmarks.own_data.table ORIGINALS results/own_data --sizes 100 1000 --seeds 3

The first folder has the files that data/english/README.md names. Each training is `luke-jax train
TASK --train FILE --model english` on a draw of the examples, and is scored once on at most 2,000
test examples, or 500 questions. One line of JSON for each is added to scores.jsonl of the second
folder; what is there is not trained again. Prints the table.
"""

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from data.english.make import qa, semeval, typing, write
from data.english.texts import read_columns, span_of, text_of

from .files import domains
from .names import luke_jax

Examples = list[dict]
FORMS = {"all parameters": [], "adapters of rank 16": ["--adapter", "16"]}
TESTED, ASKED = 2000, 500  # examples of a test part, questions of it


def names(folder: Path) -> tuple[Examples, Examples]:
  """Returns the sentences of WNUT-17, six kinds of names in tweets and posts."""
  parts = []
  for file in ("wnut17train.conll", "emerging.test.annotated"):
    rows = []
    for sentence in read_columns(folder / "wnut17" / file):
      text, starts = text_of(sentence.words)
      spans = [[*span_of(sentence.words, starts, *words), kind] for *words, kind in sentence.spans]
      rows.append({"text": text, "spans": spans})
    parts.append(rows)
  return parts[0], parts[1]


def questions(folder: Path) -> tuple[Examples, Examples]:
  """Returns the questions of SQuAD's development articles, each with its paragraph."""
  parts = qa(folder)
  return one_by_one(parts["train"]), one_by_one(parts["test"])


def one_by_one(articles: Examples) -> Examples:
  """Returns an article of one paragraph and one question for each question of articles."""
  return [
    {
      "title": article["title"],
      "paragraphs": [{"context": paragraph["context"], "qas": [question]}],
    }
    for article in articles
    for paragraph in article["paragraphs"]
    for question in paragraph["qas"]
  ]


def of_splits(make: Callable[[Path], dict[str, Examples]]) -> Callable[[Path], tuple]:
  """Returns the reader of training and test examples of one of the English sets."""
  return lambda folder: (lambda made: (made["train"], made["test"]))(make(folder))


SETS = {
  "names": ("ner", "f1", names),
  "relations": ("relations", "f1", of_splits(semeval)),
  "types": ("typing", "f1", of_splits(typing)),
  "texts with a label": ("classification", "accuracy", lambda folder: domains(folder / "crossner")),
  "questions": ("qa", "f1", questions),
}


def main() -> None:
  """Trains what is not there yet, the first seed of all first, and prints the table."""
  parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
  parser.add_argument("data", type=Path)
  parser.add_argument("target", type=Path)
  parser.add_argument("--sizes", type=int, nargs="+", default=[100, 200, 1000, 3000])
  parser.add_argument("--seeds", type=int, default=3)
  parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
  options = parser.parse_args()
  options.target.mkdir(parents=True, exist_ok=True)
  scores = options.target / "scores.jsonl"
  done = {tuple(row[:4]): row[4] for row in map(json.loads, lines(scores))}
  made = {name: SETS[name][2](options.data) for name in options.sets}
  for seed in range(options.seeds):
    for size in options.sizes:
      for name, (train, test) in made.items():
        for form in FORMS:
          key = (name, size, form, seed)
          if key not in done and len(train) >= size:
            began = time.perf_counter()
            done[key] = trained(name, random.Random(seed).sample(train, size), test, form, seed)
            row = [*key, done[key], round(time.perf_counter() - began, 1)]  # the test included
            with scores.open("a", encoding="utf-8") as file:
              file.write(json.dumps(row) + "\n")
            print(*row, flush=True)
  print_table(done)


def lines(file: Path) -> Iterable[str]:
  """Returns the lines of a file, none if it is not there."""
  return file.read_text(encoding="utf-8").splitlines() if file.is_file() else ()


def trained(name: str, train: Examples, test: Examples, form: str, seed: int) -> float:
  """Returns the test score of what the plain command makes of examples, in percent."""
  task, metric, _ = SETS[name]
  most = ASKED if task == "qa" else TESTED
  if len(test) > most:
    test = random.Random(0).sample(test, most)
  with tempfile.TemporaryDirectory() as folder:
    write(task, {"train": train, "test": test}, Path(folder))
    files = {part: next(Path(folder).glob(f"{part}.json*")) for part in ("train", "test")}
    run = f"{folder}/run"
    given = ["--train", str(files["train"]), "--model", "english", "--output", run, *FORMS[form]]
    luke_jax("train", task, *given, "--set", f"run.seed={seed}", "--set", "task.skip_bad=true")
    printed = luke_jax("evaluate", task, run, str(files["test"]), "--skip-bad")
  return round(100 * json.loads(printed.splitlines()[-1])[metric], 1)


def print_table(done: dict[tuple, float]) -> None:
  """Prints means and deviations, a row for each set and form and a column for each size."""
  sizes = sorted({size for _, size, *_ in done})
  print("| | | " + " | ".join(f"{size:,}" for size in sizes) + " |")
  print("|---" * (2 + len(sizes)) + "|")
  for name in SETS:
    for form in FORMS:
      cells = []
      for size in sizes:
        found = [x for key, x in done.items() if key[:3] == (name, size, form)]
        deviation = f" ± {statistics.stdev(found):.1f}" if len(found) > 1 else ""
        cells.append(f"{statistics.mean(found):.1f}{deviation}" if found else "")
      if any(cells):
        print(f"| {name} | {form} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
  main()
