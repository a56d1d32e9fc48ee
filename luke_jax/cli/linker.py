"""`luke-jax linker`: a linker from the latest dump on Wikimedia's server, or of a catalogue."""

import itertools
import json
import os
import re
import shutil
import sys
import time
from typing import Annotated, NamedTuple

from rich.progress import DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn
from tyro.conf import Positional, arg

from luke_jax import english
from luke_jax.convert.published import PUBLISHED
from luke_jax.convert.reading import named_directory, read, read_model
from luke_jax.convert.tensors import weights_hash
from luke_jax.errors import InputError, check_whole
from luke_jax.files import Path, in_bucket, read_json, remove, sync_all, write_json
from luke_jax.files.fetch import fetch, read_page, size_of
from luke_jax.files.locks import locked, new_folder
from luke_jax.heads.linking import KNOWLEDGE, LinkingHead
from luke_jax.inference.describing import write_own
from luke_jax.runs.steps import DONE, LOGS, Screen, Step
from luke_jax.runs.steps import run as run_steps
from luke_jax.tasks.linking.files import read_own
from luke_jax.terminal import Console
from luke_jax.text.tokenizer_files import has_tokenizer
from luke_jax.training.metrics import summary_line

LINKING = f"{english.NAME}/{english.LINKING}"  # links the names of any catalogue
MIRROR = "https://dumps.wikimedia.org"
PAGES, ITEMS = "pages-articles-multistream.xml.bz2", "page_props.sql.gz"
_SUM = re.compile(r"^([0-9a-f]{40}) [ *](([a-z0-9_]+)-(\d{8}|latest)-(\S+))$", re.MULTILINE)
_WIKI = re.compile(r"[a-z][a-z0-9_]{1,40}")


class DumpFile(NamedTuple):
  """A file of a dump, with its size in bytes and its SHA-1."""

  name: str
  address: str
  size: int
  sha1: str


def latest(wiki: str, mirror: str) -> tuple[DumpFile, DumpFile]:
  """Returns the files of a wiki's latest dump: its pages, and what items of Wikidata they are."""
  if not _WIKI.fullmatch(wiki):
    raise InputError(f"{wiki}: no wiki; expected the name of one, as simplewiki, enwiki or dewiki")
  mirror = mirror.rstrip("/")
  sums = f"{mirror}/{wiki}/latest/{wiki}-latest-sha1sums.txt"
  files = {}
  for sha1, name, of, date, what in _SUM.findall(read_page(sums)):
    if of == wiki and what in (PAGES, ITEMS):
      address = f"{mirror}/{wiki}/{date}/{name}"
      files[what] = DumpFile(name, address, size_of(address), sha1)
  if missing := {PAGES, ITEMS} - files.keys():
    raise InputError(
      f"{sums}: no {sorted(missing)[0]}; expected the list of a whole dump: where the latest is"
      " being made, try again in some days, or give another mirror by --from"
    )
  return files[PAGES], files[ITEMS]


READ = ("read the dump", "tables of pages and links")
DESCRIBE = "describe the pages"
MADE = ("build", "tables", KNOWLEDGE)
NEEDED = 8  # times the size of a dump is the room for what is made of it
# Hours of a core for a gigabyte of a dump, of long pages and of short ones, by the stages' times in
# docs/howto/linking.md; and those of the training.
HOURS, TRAINING = (2.0, 6.5), 0.5


def run(
  wiki: Annotated[str | None, Positional, arg(metavar="WIKI")] = None,
  /,
  *,
  output: Path,
  entities: Path | None = None,
  source: Annotated[str, arg(name="from")] = MIRROR,
  model: Path | None = None,
  workers: int | None = None,
  examples: int = 20000,
) -> int:
  """Makes a linker of a catalogue of your own, without training, or of a wiki.

  OUTPUT is then a model with all that it knows: a folder that can be moved, linked with and served;
  where one of a catalogue is, english has to be. Of a wiki the command fetches the latest dump,
  and does `wiki build`, `wiki export`, `entities describe` and `train linking`. What it was made of
  lies in OUTPUT.making, which may be deleted; after an interruption the same command continues.

      luke-jax linker --entities mine.jsonl --output my-linker
      luke-jax linker simplewiki --output my-linker
      luke-jax link my-linker "Curie was born in Warsaw."

  Args:
    wiki: Name of the wiki's database, as simplewiki, enwiki or dewiki.
    output: Folder for the linker.
    entities: File of the catalogue: lines of JSON with a name, and perhaps a description, aliases,
      an id, sentences that say something of the entity, and as weight how often it is meant beside
      others of its name; or CSV with name, description, aliases (with ; between), weight and id.
    source: Address of a server with the folders of Wikimedia's.
    model: For a wiki, the directory or name of the model that describes entities and is trained:
      english, which knows no other language. For a catalogue, the linker: english/linking.
    workers: Processes that read the dump; as many as there are cores if none is given.
    examples: About how many paragraphs to train on.
  """
  either = "expected the name of a wiki, as simplewiki, or --entities FILE"
  if wiki is not None and entities is not None:
    raise InputError(f"WIKI: {wiki}; {either}, not both")
  if in_bucket(output):
    raise InputError(f"{output}: a bucket; expected a folder of this machine, to copy afterwards")
  if output.exists():
    raise InputError(f"{output}: exists; expected a new folder for the linker")
  if entities is not None:
    if (source, workers, examples) != (MIRROR, None, 20000):
      raise InputError("--from, --workers, --examples: of a wiki; expected none with --entities")
    return of_catalogue(entities, output, model or Path(LINKING))
  if wiki is None:
    raise InputError(f"WIKI: none; {either}")
  model = model or Path(english.NAME)
  workers = workers if workers is not None else os.cpu_count() or 1
  check_whole(1, **{"--workers": workers, "--examples": examples})
  check_model(model)
  console, making = Console(stderr=True), output.with_name(f"{output.name}.making").resolve()
  try:
    with locked(making):
      found = begun(making, wiki, source)
      console.print(cost(found), soft_wrap=True)
      check_room(making, found)
      for file in found:
        _fetch(file, making / file.name, console)
      planned = steps(making, found, model, workers, examples)
      if DESCRIBE not in (read_json(making / DONE) if (making / DONE).exists() else {}):
        remove(making / KNOWLEDGE)  # of a command that was ended before it said so
      with Screen(console) as shown:
        seconds = run_steps(planned, making, shown.show)
      assemble(making, output)
  except KeyboardInterrupt:
    print("luke-jax: interrupted; the same command continues", file=sys.stderr)
    return 130
  log = (making / LOGS / f"{planned[-1].name}.txt").read_text(encoding="utf-8").splitlines()
  trained = json.loads(next((x for x in reversed(log) if x.startswith("{")), "{}"))
  scores = {name: value for name, value in trained.items() if name.startswith("dev/")}
  console.print(f'Try it: luke-jax link {output} "…". {making} may be deleted.', soft_wrap=True)
  took = {"seconds": round(sum(seconds.values()))}
  print(summary_line({"output": str(output), "wiki": found[0].name, **scores, **took}))
  return 0


def of_catalogue(file: Path, output: Path, model: Path) -> int:
  """Makes a linker of the entities of a file, which are described and nothing else."""
  begun = time.monotonic()
  own, directory = read_own(file), named_directory(model)
  parts = read(directory)
  head, start = parts.network.head, parts.start
  if (
    not isinstance(head, LinkingHead)
    or start is None
    or head.described_by != weights_hash(start.directory)
  ):
    expected = f"expected adapters over the model that describes entities, as {LINKING} has them"
    raise InputError(f"{model}: not such a linker; {expected}")
  print(f"{file}: {len(own):,} entities to describe", file=sys.stderr)
  output.resolve().parent.mkdir(parents=True, exist_ok=True)
  with new_folder(output.resolve().parent, f".{output.name}-") as made:
    whole = made / "linker"
    shutil.copytree(directory, whole, ignore=shutil.ignore_patterns(KNOWLEDGE))
    counts = write_own(read_model(start.directory), own, whole / KNOWLEDGE, head.described_by)
    sync_all(whole)
    whole.rename(output)
  print(f'Try it: luke-jax link {output} "…".', file=sys.stderr)
  took = {"seconds": round(time.monotonic() - begun)}
  print(summary_line({"output": str(output), **counts, **took}))
  return 0


def check_model(model: Path) -> None:
  """Raises InputError for a model that cannot describe entities or be trained."""
  if str(model) in PUBLISHED and not model.exists():
    return
  directory = named_directory(model)
  if not has_tokenizer(directory):
    raise InputError(f"{model}: no tokenizer; expected the directory of a whole model")
  _ = read_model(directory).config.for_fine_tuning


def begun(folder: Path, wiki: str, source: str) -> tuple[DumpFile, DumpFile]:
  """Returns the files of the dump that was begun with, or else of the latest."""
  note = folder / "dump.json"
  if not note.exists():
    found = latest(wiki, source)
    folder.mkdir(parents=True, exist_ok=True)
    write_json(note, found)
  try:
    pages, items = (DumpFile(*x) for x in read_json(note))
    if any(Path(x.name).name != x.name or x.size < 0 for x in (pages, items)):
      raise ValueError
  except (TypeError, ValueError):
    expected = "expected what this command wrote: remove it"
    raise InputError(f"{note}: damaged; {expected}") from None
  if not pages.name.startswith(f"{wiki}-"):
    raise InputError(f"{folder}: of {pages.name}; expected {wiki}, or another --output")
  return pages, items


def cost(files: tuple[DumpFile, DumpFile]) -> str:
  """Returns what making a linker of a dump costs, in a line."""
  size, cores = sum(file.size for file in files), os.cpu_count() or 1
  least, most = (x * files[0].size / 1e9 / cores + TRAINING for x in HOURS)
  return (
    f"{files[0].name}: {size / 1e6:,.0f} MB to fetch, about {NEEDED * size / 1e9:.1f} GB of disk,"
    f" {least:.1f} to {most:.1f} hours on {cores} cores: the shorter its pages, the longer"
  )


def check_room(folder: Path, files: tuple[DumpFile, DumpFile]) -> None:
  """Raises InputError where the disk has no room for a dump and what is made of it."""
  there = sum(x.stat().st_size for x in folder.rglob("*") if x.is_file())
  needed, free = NEEDED * sum(x.size for x in files) - there, shutil.disk_usage(folder).free
  if free < needed:
    room = f"{needed / 1e9:.1f} GB of room for the dump and what is made of it"
    raise InputError(f"{folder}: {free / 1e9:.1f} GB are free; expected {room}")


def _fetch(file: DumpFile, path: Path, console: Console) -> None:
  columns = (*Progress.get_default_columns()[:2], DownloadColumn(), TransferSpeedColumn())
  with Progress(*columns, TimeRemainingColumn(), console=console) as progress:
    shown = progress.add_task(file.name, total=file.size)
    fetch(file.address, path, file.sha1, lambda there: progress.update(shown, completed=there))


def steps(
  folder: Path, files: tuple[DumpFile, DumpFile], model: Path, workers: int, examples: int
) -> list[Step]:
  """Returns the steps from a fetched dump to a trained linker."""
  dump, items = (str(folder / file.name) for file in files)
  published = PUBLISHED.get(str(model)) if not model.exists() else None
  own = str(model) if published else str(named_directory(model).resolve())
  words = str(published.directory) if published else own
  build, tables, knowledge, run = (str(folder / x) for x in (*MADE, "run"))
  by = ("--workers", str(workers))
  train = ("--train", f"{knowledge}/train.jsonl", "--dev", f"{knowledge}/dev.jsonl")
  train += ("--model", own, "--set", f"task.knowledge={knowledge}", "--output", run)
  described = ("--model", own, "--examples", str(examples), "--output", knowledge)
  read = ("--tokenizer", words, "--until", "counts", "--output", build)
  commands = {
    READ[0]: ("wiki", "build", dump, *read),
    READ[1]: ("wiki", "export", build, "--items", items, "--output", tables),
    DESCRIBE: ("entities", "describe", tables, *described),
    "train the linker": ("train", "linking", *train),
  }
  if published and not published.is_here:
    commands = {f"fetch {own}, {published.size}": ("get", own)} | commands
  names = list(commands)
  needed = {name: (before,) for before, name in itertools.pairwise(names)}
  makes = dict(zip(names[-2:], (KNOWLEDGE, "run"), strict=True))
  return [
    Step(x, x, commands[x], needed.get(x, ()), makes.get(x, ""), long=True, also=by * (x in READ))
    for x in names
  ]


def assemble(folder: Path, output: Path) -> None:
  """Makes a model with its knowledge in it, whole or not at all."""
  with new_folder(output.resolve().parent, f".{output.name}-") as made:
    whole, of_training = made / "linker", shutil.ignore_patterns("train.jsonl", "dev.jsonl")
    shutil.copytree(folder / "run/model", whole)
    shutil.copytree(folder / KNOWLEDGE, whole / KNOWLEDGE, ignore=of_training)
    sync_all(whole)
    whole.rename(output)
