"""Reads what pictures are made of."""

from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

VOID = ("meta", "br", "wbr")


class Reader(HTMLParser):
  """Notes the text, tags that were opened, those left open, and what the page would fetch."""

  def __init__(self):
    super().__init__()
    self.open, self.tags, self.fetched, self.text = [], [], [], ""

  def handle_starttag(self, tag, attrs):
    self.tags.append((tag, dict(attrs)))
    if tag not in VOID:
      self.open.append(tag)
    self.fetched += [value for name, value in attrs if name in ("src", "href") and value[0] != "#"]

  def handle_endtag(self, tag):
    while self.open and self.open[-1] != tag and self.open[-1] in ("tr", "td", "th"):
      self.open.pop()
    assert self.open.pop() == tag

  def handle_data(self, data):
    if not {"style", "small", "title"} & set(self.open):
      self.text += data

  def named(self, tag, **attributes):
    """The attributes of the tags of a name that have these among theirs."""
    wanted = {name.rstrip("_"): value for name, value in attributes.items()}
    return [has for name, has in self.tags if name == tag and wanted.items() <= has.items()]


@pytest.fixture(scope="session")
def read():
  """Parses HTML; refuses tags that do not fit and all that would come from elsewhere."""

  def parsed(text):
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert not reader.open and not reader.fetched
    assert not {"script", "link", "img", "iframe"} & {tag for tag, _ in reader.tags}
    return reader

  return parsed


@pytest.fixture(scope="session")
def drawings():
  """The SVG drawings of a picture, parsed."""

  def parsed(text):
    parts = text.split("<svg")[1:]
    return [ElementTree.fromstring(f"<svg{x.split('</svg>')[0]}</svg>") for x in parts]

  return parsed
