"""`luke-jax wiki annotate`."""

import contextlib
import html
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated, NamedTuple, TextIO

from rich.table import Table
from rich.text import Text
from tyro.conf import Positional, arg

from luke_jax import web_page
from luke_jax.errors import InputError
from luke_jax.files import Path, is_file_in, whole
from luke_jax.terminal import Console, visible
from luke_jax.web_page import FOOT, head
from luke_jax.wiki.mentions import (
  LINKED_AT_ALL,
  LINKED_OFTEN,
  Annotation,
  BuiltPages,
  Mentions,
  PageAnnotation,
  annotate,
  annotate_with,
  names_on_page,
)

Annotations = Sequence[Annotation | PageAnnotation]

COLOUR = "black on cyan"


class AnnotatedLine(NamedTuple):
  """A line of the text, and the number of characters before it."""

  text: str
  start: int


def run(
  folder: Annotated[Path, Positional, arg(metavar="OUT")],
  source: Annotated[str, Positional, arg(metavar="TEXT|FILE")],
  /,
  *,
  min_link_probability: float | None = None,
  min_prior: float = 0.0,
  page: str | None = None,
  output: Path | None = None,
  html_file: Annotated[Path | None, arg(name="html")] = None,
) -> None:
  """Finds the names of pages in a text, the longest first.

  It prints the text with its names marked in a terminal, and JSON lines elsewhere unless --output
  or --html is set. `start` and `end` are characters of the whole text; a name is within a line.

      luke-jax wiki annotate wiki/en "The Beatles came from Liverpool."

  Args:
    folder: Folder of luke-jax wiki build and luke-jax wiki mentions.
    source: Text, or a file with it; /dev/stdin reads it from a pipe.
    min_link_probability: Smallest share of the pages with a name on which it is a link; without the
      option 0.1, or 0.01 with --page.
    min_prior: Smallest share of a name's links that a page has.
    page: Title of a page; finds only the names that it links and that mean one page there.
    output: File for the JSON lines.
    html_file: File for the marked text as a page of HTML.
  """
  if output is not None and output == html_file:
    raise InputError(f"--html {html_file}: the file of --output too; expected another")
  is_file = is_file_in(source, "a text or the name of a file")
  lines = _with_starts(_file_lines(Path(source)) if is_file else source.split("\n"))
  annotate_line = _annotator(folder, page, min_link_probability, min_prior)
  console, names = Console(), 0
  with contextlib.ExitStack() as stack:
    rows = _opened(stack, output)
    web = _opened(stack, html_file)
    if web:
      web.write(head(source[:60]))
    for line in lines:
      annotations = annotate_line(line.text)
      names += len(annotations)
      if rows:
        _write_rows(rows, line, annotations)
      elif console.is_terminal:
        _show(console, line.text, annotations)
      elif not web:
        _write_rows(sys.stdout, line, annotations)
      if web:
        web.write(f"<p>{marked_html(line.text, annotations)}</p>\n")
    if web:
      web.write(FOOT)
  for file in filter(None, (output, html_file)):
    print(f"{file}: {names} names")


def marked_html(text: str, annotations: Annotations) -> str:
  """Returns the text as HTML with the names marked; their pages show under the pointer."""
  titles = ((x.start, x.end, f'title="{html.escape(_meaning(x))}"') for x in annotations)
  return web_page.marked(text, titles)


def _annotator(
  folder: Path, page: str | None, min_link_probability: float | None, min_prior: float
) -> Callable[[str], Annotations]:
  if page is not None and min_prior:
    raise InputError("--min-prior: given with --page; expected one of them")
  for name, value in (("--min-link-probability", min_link_probability), ("--min-prior", min_prior)):
    if value is not None and not 0 <= value <= 1:
      raise InputError(f"{name}: {value}; expected a number from 0 to 1")
  mentions, least = Mentions(folder), min_link_probability
  if page is None:
    least = LINKED_OFTEN if least is None else least
    return lambda text: annotate(text, mentions, min_link_probability=least, min_prior=min_prior)
  built_page = BuiltPages(folder).page(page)
  if built_page is None:
    raise InputError(f"--page {page!r}: no such page in {folder}; expected the title of one")
  least = LINKED_AT_ALL if least is None else least
  names = names_on_page(built_page, mentions, min_link_probability=least)
  return lambda text: annotate_with(text, names)


def _with_starts(lines: Iterable[str]) -> Iterator[AnnotatedLine]:
  start = 0
  for line in lines:
    yield AnnotatedLine(line, start)
    start += len(line) + 1


def _file_lines(path: Path) -> Iterator[str]:
  with path.open("rb") as file:
    for number, line in enumerate(file, start=1):
      try:
        yield line.decode().removesuffix("\n")
      except UnicodeDecodeError:
        raise InputError(f"{path}: line {number} is not UTF-8; expected a text file") from None


def _opened(stack: contextlib.ExitStack, path: Path | None) -> TextIO | None:
  if path is None:
    return None
  part = stack.enter_context(whole(path))
  return stack.enter_context(part.open("w", encoding="utf-8", newline="\n"))


def _write_rows(file: TextIO, line: AnnotatedLine, annotations: Annotations) -> None:
  for annotation in annotations:
    start, end = annotation.start, annotation.end
    row = {"start": line.start + start, "end": line.start + end, "text": line.text[start:end]}
    if isinstance(annotation, PageAnnotation):
      row |= {"title": annotation.title}
    else:
      best, *others = annotation.candidates
      row |= {"title": best.title, "link_probability": annotation.link_probability}
      row |= {"prior": best.prior, "others": [other._asdict() for other in others]}
    file.write(json.dumps(row, ensure_ascii=False) + "\n")


def _show(console: Console, text: str, annotations: Annotations) -> None:
  marked = Text(visible(text))
  table = Table("name", "means", box=None)
  for annotation in annotations:
    marked.stylize(COLOUR, annotation.start, annotation.end)
    name = visible(text[annotation.start : annotation.end])
    table.add_row(Text(name), Text(_meaning(annotation)))
  console.print(marked, soft_wrap=True)
  if annotations:
    console.print(table)


def _meaning(annotation: Annotation | PageAnnotation, most: int = 3) -> str:
  if isinstance(annotation, PageAnnotation):
    return annotation.title
  pages = [f"{page.title} {page.prior:.0%}" for page in annotation.candidates[:most]]
  more = len(annotation.candidates) - most
  tail = [f"{more} more"] if more > 0 else []
  return f"{', '.join([*pages, *tail])}; a link on {annotation.link_probability:.0%} of its pages"
