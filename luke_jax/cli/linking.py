"""`luke-jax link`, `luke-jax entities describe` and `luke-jax entities own`."""

import json
from collections import Counter
from typing import Annotated, Any

from tyro.conf import OmitArgPrefixes, Positional, arg

from luke_jax.cli import predict
from luke_jax.cli.task_inputs import FileOptions, ModelOptions
from luke_jax.convert.reading import named_directory, read_model
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.formats.files import Faults, check_fields, listed, string
from luke_jax.formats.records import read_records
from luke_jax.inference.describing import OwnEntity, add_own, describe
from luke_jax.tasks.linking.knowledge import Knowledge
from luke_jax.training.metrics import summary_line
from luke_jax.wiki.stages.engines import EngineOptions


def link(
  directory: Annotated[Path, Positional, arg(metavar="MODEL")],
  sources: Annotated[tuple[str, ...], Positional, arg(metavar="FILE|TEXT|-|SHARDS")] = (
    predict.STANDARD_INPUT,
  ),
  /,
  *,
  output: Annotated[str, arg(metavar="PATH")] = "",
  knowledge: Path | None = None,
  threshold: float | None = None,
  backbone: Path | None = None,
  engine: OmitArgPrefixes[EngineOptions],
) -> None:
  """Finds the entities that the names in texts mean.

  In a terminal the texts are shown with the entities marked; elsewhere, and in --output, each text
  is a line of JSON with its links: start, end, title, item of Wikidata and score. Where a file
  gives `mentions` of a text, these are linked and no others.

      luke-jax link runs/linker "Curie was born in Warsaw."

  Args:
    directory: Directory of a model that links, or the folder of the run that made it.
    sources: File of texts, a text, an object of JSON, or - for standard input; or the shards of a
      corpus, as luke-jax predict reads them.
    output: File for the links: lines of JSON, or a page if its name ends in .html. Of a corpus, a
      folder.
    knowledge: Folder of other knowledge than that of the training, such as with one's own entities.
    threshold: Least score of a name's entity, as luke-jax evaluate linking --precision tells it.
    backbone: Directory of the backbone, for an adapter of one that was not fetched.
  """
  if not directory.exists() and sources == (predict.STANDARD_INPUT,) and " " in str(directory):
    raise InputError(
      "MODEL: a text; expected a linker before it: `luke-jax linker simplewiki --output my-linker`"
      " makes one of the Simple English Wikipedia"
    )
  predict.run(
    "linking",
    directory,
    sources,
    output=output,
    threshold=threshold,
    reading=ModelOptions(backbone, knowledge=knowledge),
    form=FileOptions(),
    engine=engine,
  )


def entities_describe(
  tables: Annotated[Path, Positional, arg(metavar="TABLES")],
  /,
  *,
  output: Path,
  model: Path = Path("english"),
  examples: int = 20000,
  engine: OmitArgPrefixes[EngineOptions],
) -> None:
  """Makes what a linker knows of a wiki's pages, and examples to train it on.

  That is a vector of each page's description, and the names that pages have by links and titles. A
  twentieth of the pages is held out: no link of theirs counts, and OUTPUT/dev.jsonl has their text.
  The command resumes.

      luke-jax entities describe tables --output knowledge
      luke-jax train linking --train knowledge/train.jsonl --dev knowledge/dev.jsonl \\
        --model english --set task.knowledge=knowledge --output runs/linker

  Args:
    tables: Folder that `luke-jax wiki export` made.
    output: Folder for the knowledge.
    model: Directory or name of the model whose states describe entities: a sentence encoder.
    examples: About how many paragraphs to train on.
  """
  if examples < 1:
    raise InputError(f"--examples: {examples}; expected a whole number from 1")
  with engine.opened() as runner:
    counts = describe(tables, named_directory(model), output, runner, examples=examples)
  print(summary_line({**counts, "output": str(output)}))


def entities_own(
  source: Annotated[Path, Positional, arg(metavar="KNOWLEDGE")],
  file: Annotated[Path, Positional, arg(metavar="FILE")],
  /,
  *,
  output: Path,
  model: Path = Path("english"),
) -> None:
  """Adds entities of your own to what a linker knows; nothing is trained.

  A line of FILE is an object of JSON with a name, and perhaps a description, aliases, an id, and
  sentences that say something of the entity. What the knowledge had stays the same to the bit.

      luke-jax entities own knowledge mine.jsonl --output with-mine
      luke-jax link runs/linker "Nordvik ships bearings." --knowledge with-mine

  Args:
    source: Folder of knowledge.
    file: File of entities.
    output: Folder for the knowledge with them.
    model: Directory or name of the model that describes entities, the one of KNOWLEDGE.
  """
  own = read_records(file, _own, Faults())
  if not own:
    raise InputError(f"{file}: no entities; expected one on each line")
  keys = [x.id or x.name for x in own]
  if twice := next((key for key, count in Counter(keys).items() if count > 1), None):
    raise InputError(f"{file}: {twice!r}: twice; expected each id, or name without an id, once")
  counts = add_own(Knowledge(source), read_model(named_directory(model)), own, output)
  print(json.dumps({**counts, "output": str(output)}))


def _own(value: Any, id: str, place: str) -> OwnEntity:
  check_fields(value, ("name", "description", "aliases", "sentences"), place)
  name = string(value, "name", place).strip()
  if not name:
    raise InputError(f"{place}: name: empty; expected the entity's name")
  description = string(value, "description", place) if "description" in value else ""
  aliases, sentences = (_strings(value, field, place) for field in ("aliases", "sentences"))
  return OwnEntity(name, description, aliases, id if "id" in value else None, sentences)


def _strings(value: Any, field: str, place: str) -> tuple[str, ...]:
  found = listed(value, field, place) if field in value else ()
  if not all(isinstance(x, str) and x.strip() for x in found):
    raise InputError(f"{place}: {field}: {found!r:.60}; expected a list of texts")
  return tuple(found)
