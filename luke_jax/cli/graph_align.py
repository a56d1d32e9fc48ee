"""`luke-jax graph align`."""

import json
from typing import Annotated

import numpy as np
from rich.table import Table
from rich.text import Text
from tyro.conf import Positional, arg

from luke_jax.convert.reading import read
from luke_jax.errors import InputError
from luke_jax.files import Path, check_place, is_file_in, whole
from luke_jax.runs.models import model_directory
from luke_jax.systems.ernie_thu.aligning import (
  JSON,
  AlignedTexts,
  LinkedText,
  aligned_texts,
  marked_text,
  read_linked_texts,
)
from luke_jax.terminal import Console
from luke_jax.text.alignment import Alignment
from luke_jax.wiki.mentions.annotate import MentionLinker

ARRAYS = ".npz"


def run(
  directory: Annotated[Path, Positional, arg(metavar="DIRECTORY")],
  source: Annotated[str, Positional, arg(metavar="TEXT|FILE")],
  /,
  *,
  vectors: Path,
  wiki: Path | None = None,
  titles: Path | None = None,
  threshold: float = 0.0,
  alignment: Alignment = "first",
  output: Path | None = None,
) -> None:
  """Puts entities of a graph beside the words of texts, as an ERNIE of Tsinghua reads them.

  A text has its links marked, `[Jim Henson](Q191037) was a puppeteer.`, or a wiki finds them. A
  file has a text on each line or, as .jsonl, objects with `text` and `links`. It prints what each
  link is aligned to, or writes it; the last line printed counts in JSON.

      luke-jax graph align ernie "[Jim Henson](Q191037) was a puppeteer." --vectors kg_embed

  Args:
    directory: Directory of the model.
    source: A text or a file of texts.
    vectors: Folder of the entities' vectors.
    wiki: Folder of luke-jax wiki build and luke-jax wiki mentions, to link texts without links.
    titles: With --wiki, a file with a title, a tab and a Qid on each line, or Wikidata's dump.
    threshold: The score above which a link is read.
    alignment: Word pieces of a mention that its entity is beside.
    output: File to write: the inputs of the model as .npz, or the texts with their links as .jsonl.
  """
  if output is not None:
    check_place(output)
    if output.suffix not in (ARRAYS, JSON):
      raise InputError(f"--output: {output}; expected a name that ends in {ARRAYS} or {JSON}")
  if (wiki is None) != (titles is None):
    raise InputError("--wiki, --titles: one without the other; expected both or none")
  texts = _texts(source)
  if wiki is not None and titles is not None:
    link = MentionLinker.of(wiki, titles)
    texts = [x if x.links else LinkedText(x.text, tuple(link(x.text))) for x in texts]
  model = read(model_directory(directory))
  split = [x.text for x in texts], [x.links for x in texts]
  aligned = aligned_texts(model, *split, vectors=vectors, threshold=threshold, alignment=alignment)
  if output is None:
    Console().print(_table(aligned))
  else:
    _write(aligned, output)
  print(json.dumps(_counts(aligned) | ({"file": str(output)} if output else {})))


def _texts(source: str) -> list[LinkedText]:
  if is_file_in(source, "a text or a file of texts"):
    texts = list(read_linked_texts(Path(source)))
  else:
    texts = [marked_text(source)] if source.strip() else []
  if not texts:
    raise InputError(f"{source or 'the text'}: no text; expected one at least")
  return texts


def _table(aligned: AlignedTexts) -> Table:
  table = Table("text", "entity", "mention", "beside the piece", box=None)
  for number, (text, links) in enumerate(zip(aligned.texts, aligned.links, strict=True), start=1):
    for link, pieces in zip(links, aligned.pieces(number - 1), strict=True):
      mention = Text(text[link.start : link.end])
      beside = " ".join(pieces) or f"({aligned.reason(link)})"
      table.add_row(str(number), Text(link.entity), mention, Text(beside))
  return table


def _counts(aligned: AlignedTexts) -> dict[str, int]:
  links = [link for of_one in aligned.links for link in of_one]
  vectors = aligned.aligner.vectors.ids.of
  return {
    "texts": len(aligned.texts),
    "links": len(links),
    "aligned": sum(bool(x) for number in range(len(aligned.texts)) for x in aligned.pieces(number)),
    "without a vector": sum(link.entity not in vectors for link in links),
  }


def _write(aligned: AlignedTexts, output: Path) -> None:
  with whole(output) as part:
    if output.suffix == ARRAYS:
      with part.open("wb") as file:
        np.savez(file, allow_pickle=False, **aligned.arrays())
      return
    with part.open("w", encoding="utf-8") as file:
      for text, links in zip(aligned.texts, aligned.links, strict=True):
        value = {"text": text, "links": [list(link) for link in links]}
        file.write(json.dumps(value, ensure_ascii=False) + "\n")
