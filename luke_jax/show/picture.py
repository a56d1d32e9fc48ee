"""Picture: HTML that loads nothing from elsewhere, for notebooks and as a file."""

import dataclasses

from luke_jax.files import Path, whole
from luke_jax.show.style import STYLE
from luke_jax.web_page import FOOT, head


@dataclasses.dataclass(frozen=True)
class Picture:
  """HTML picture, shown as the last value of a notebook's cell; `save` writes a page."""

  body: str  # without the shared style
  title: str = "luke_jax"  # of the page

  @property
  def html(self) -> str:
    """Returns the picture with its style, to be placed anywhere in a page."""
    return f"<style>{STYLE}</style>\n{self.boxed}"

  @property
  def boxed(self) -> str:
    """Returns the picture without its style, for a page that already has it."""
    return f'<div class="luke-picture">{self.body}</div>'

  @property
  def page(self) -> str:
    """Returns the picture as a page of its own."""
    return f"{head(self.title)}{self.html}\n{FOOT}"

  def _repr_html_(self) -> str:
    return self.html

  def save(self, path: str | Path) -> None:
    """Writes the picture as an HTML page."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole(path) as part:
      part.write_text(self.page, encoding="utf-8")
