"""Texts, names and labels of users in a terminal, none of which may control it."""

import sys
from collections.abc import Iterable
from typing import Any, TextIO

import rich.console
from rich.segment import Segment

# Each is shown by one character, so that no mark moves; those above 127 have no pictures.
_PICTURES: dict[int, int] = {code: 0x2400 + code for code in range(32) if code not in b"\t\n"}
_PICTURES |= {0x7F: 0x2421, **dict.fromkeys(range(0x80, 0xA0), 0xFFFD)}


def visible(text: str) -> str:
  """Returns the text in the same length, with pictures of characters that control a terminal."""
  return text.translate(_PICTURES)


class Console(rich.console.Console):
  """Console that shows control characters as pictures, and takes no text for markup or emoji."""

  def __init__(self, **options: Any) -> None:
    super().__init__(markup=False, emoji=False, **options)

  def render(
    self,
    renderable: rich.console.RenderableType,
    options: rich.console.ConsoleOptions | None = None,
  ) -> Iterable[Segment]:
    """Yields the segments of what is printed; those with control codes are Rich's own."""
    for segment in super().render(renderable, options):
      yield segment if segment.control else segment._replace(text=visible(segment.text))


def of_rich() -> TextIO:
  """Returns the standard output for a program that colours its texts itself, such as help."""
  return getattr(sys.stdout, "rich_proxied_file", sys.stdout)


class Stream:
  """Stream of a terminal to which `print` writes; a Console of Rich writes past it."""

  def __init__(self, terminal: TextIO) -> None:
    self.rich_proxied_file = terminal  # the name by which Rich finds it

  def write(self, text: str) -> int:
    """Writes a text with pictures of its control characters."""
    return self.rich_proxied_file.write(visible(text))

  def writelines(self, lines: Iterable[str]) -> None:
    """Writes texts likewise."""
    self.rich_proxied_file.writelines(map(visible, lines))

  def __getattr__(self, name: str) -> Any:
    return getattr(self.rich_proxied_file, name)
