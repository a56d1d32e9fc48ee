"""Reference of the command line: `python docs/make_reference.py`.

Its content comes from the commands' signatures and docstrings.
"""

import ast
import dataclasses
import inspect
import itertools
import re
import textwrap
from collections.abc import Callable, Iterator
from types import NoneType
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from luke_jax.cli import SECTIONS, command
from luke_jax.files import Path

INTRODUCTION = """\
# The command line

The output of `luke-jax COMMAND --help` for every command, a page a group, made from the code by
`python docs/make_reference.py`, and a test keeps it current.

```bash
luke-jax --help      # the commands that people use first
luke-jax --help-all  # all of them
```

## For scripts

| status | |
|---|---|
| 0 | done |
| 1 | done, and the answer is no: models differ (`parity`), a step does not fit (`plan`), a part \
is broken (`doctor`) |
| 2 | something given is wrong: one line on standard error says where, what, and what was expected |
| 75 | a training was preempted and has saved itself, or another host of it is gone: the same \
command goes on |
| 130 | interrupted by Ctrl-C; a training has saved itself |

Progress and warnings go to standard error. The last line of standard output is made for programs:

- one object of JSON from what builds, trains, scores or measures: `train`, `evaluate`, `score`, \
`experiment run`, `wiki build`, `wiki join`, `wiki mentions`, `plan`, \
`demo`, and `doctor --json`. What was made is its `"model"`, `"folder"`, `"file"` or `"report"`;
- `PATH: what it is` from what writes the file or the folder that you name: `convert`, `export`, \
`entities add`, and the `--output` or `--html` of the others; `data check` begins so too;
- the verdict from `parity` and `doctor`, whose first word is `equal`, `DIFFERENT`, `works` or \
`broken`.

`predict` and `wiki annotate` write lines of JSON when no terminal reads them. No file is left half
written.
"""
KINDS = {str: "TEXT", int: "INT", float: "FLOAT", Path: "PATH"}


class Argument(NamedTuple):
  """An argument: its form on the command line, its meaning and its default."""

  given: str
  meaning: str
  default: str


def reference() -> dict[str, str]:
  """Returns the pages by their names: the first leads to those of the groups of commands."""
  pages, rows = {}, []
  for section, commands in SECTIONS.items():
    title = section.partition(":")[0]
    page = f"cli/{title.lower()}.md"
    pages[page] = "\n".join([f"# Commands: {section}\n", *map(_command, commands)])
    rows.append(f"## {section}\n\n| command | |\n|---|---|")
    rows += [f"| [`{x}`]({page}#{x.replace(' ', '-')}) | {of[1]} |" for x, of in commands.items()]
    rows.append("")
  return {"cli.md": "\n".join([INTRODUCTION, *rows]), **pages}


def _command(name: str) -> str:
  run = command(name)
  about, meanings = _documented(run)
  first, *rest = _blocks(about)
  positional, options = _rows(run, meanings)
  names = " ".join(row.given for row in positional)
  usage = " ".join(f"luke-jax {name} {names} [OPTIONS]".split())
  parts = [f"## `{name}`", first, f"```text\n{usage}\n```", *rest]
  if positional:
    parts.append(_table("argument", positional))
  if options:
    parts.append(_table("option", options))
  return "\n\n".join(parts) + "\n"


def _blocks(about: str) -> Iterator[str]:
  """Yields paragraphs, and examples as blocks of code."""
  for block in re.split(r"\n\n+", about.strip()):
    example = block.startswith("    ")
    yield f"```sh\n{textwrap.dedent(block)}\n```" if example else " ".join(block.split())


def _documented(value: Any) -> tuple[str, dict[str, str]]:
  """Returns the text of a docstring, and the meaning of each parameter from its "Args:"."""
  about, _, arguments = inspect.cleandoc(value.__doc__).partition("\nArgs:\n")
  matches = re.findall(r"^  (\w+): (.*(?:\n    .*)*)", arguments, re.MULTILINE)
  return about, {name: " ".join(meaning.split()) for name, meaning in matches}


def _rows(
  run: Callable[..., object], meanings: dict[str, str]
) -> tuple[list[Argument], list[Argument]]:
  hints = get_type_hints(run, include_extras=True)
  positional, options = [], []
  for name, parameter in inspect.signature(run).parameters.items():
    kind, notes = _bare(hints[name])
    if dataclasses.is_dataclass(kind):
      options += _group(kind, parameter.default)
    elif parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
      shown = next(note.metavar for note in notes if hasattr(note, "metavar"))
      optional = parameter.default is not inspect.Parameter.empty
      form = f"[{shown}]" if optional else shown
      positional.append(Argument(form, meanings[name], _default(parameter.default)))
    else:
      shown = next((note.name for note in notes if getattr(note, "name", None)), name)
      options.append(_option(shown, kind, meanings[name], parameter.default))
  return positional, options


def _group(group: Any, value: Any) -> Iterator[Argument]:
  """Yields the options for the fields of a dataclass, which have no prefix."""
  hints, meanings = get_type_hints(group, include_extras=True), _field_meanings(group)
  for field in dataclasses.fields(group):
    default = getattr(value, field.name, field.default)
    kind, _ = _bare(hints[field.name])
    yield _option(field.name, kind, meanings.get(field.name, ""), default)


def _field_meanings(group: Any) -> dict[str, str]:
  """Returns meanings of a dataclass's fields, from its docstring or the strings below them."""
  (tree,) = ast.parse(textwrap.dedent(inspect.getsource(group))).body
  body = getattr(tree, "body", [])
  return _documented(group)[1] | {
    field.target.id: " ".join(below.value.value.split())
    for field, below in itertools.pairwise(body)
    if isinstance(field, ast.AnnAssign)
    and isinstance(field.target, ast.Name)
    and isinstance(below, ast.Expr)
    and isinstance(below.value, ast.Constant)
    and isinstance(below.value.value, str)
  }


def _option(name: str, kind: object, meaning: str, default: object) -> Argument:
  values = "" if kind is bool else f" {_values(kind)}"
  return Argument(f"--{name.replace('_', '-')}{values}", meaning, _default(default))


def _values(kind: object) -> str:
  """Returns the values of a type as the reference shows them."""
  kind, _ = _bare(kind)
  if kind in KINDS:
    return KINDS[kind]
  if get_origin(kind) is Literal:
    return "|".join(map(str, get_args(kind)))
  inner = [x for x in get_args(kind) if x not in (NoneType, Ellipsis)]
  return " ".join(map(_values, inner))


def _bare(kind: object) -> tuple[object, tuple[object, ...]]:
  """Returns a type without its annotations, and the annotations."""
  if get_origin(kind) is Annotated:
    inner, *notes = get_args(kind)
    kind, more = _bare(inner)
    return kind, (*notes, *more)
  return kind, ()


def _default(value: object) -> str:
  if value is inspect.Parameter.empty or value is dataclasses.MISSING:
    return "needed"
  return "" if value in (None, False, (), "") else f"`{value}`"


def _table(title: str, rows: list[Argument]) -> str:
  lines = [f"| {title} | | default |", "|---|---|---|"]
  for row in rows:
    cells = (f"`{row.given}`", row.meaning, row.default)
    lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
  return "\n".join(lines)


if __name__ == "__main__":
  folder = Path(__file__).parent
  (folder / "cli").mkdir(exist_ok=True)
  for name, text in reference().items():
    (folder / name).write_text(text, encoding="utf-8")
