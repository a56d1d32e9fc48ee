"""Texts cut into phrases and entities: `python -m data.ernie_baidu.units BUILD|FILE`."""

import contextlib
import gzip
import itertools
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from tyro.conf import Positional, arg

from data.ernie_thu.sentence_pairs import Document, PairMaker, PairSettings, Pieces
from luke_jax.cli import script
from luke_jax.errors import InputError, not_installed
from luke_jax.files import Path, cache_folder, read_json, whole
from luke_jax.systems.ernie_baidu.units import CONTINUED, FIRST, SPECIAL, UnitInstance
from luke_jax.text import Tokenizer, load_tokenizer
from luke_jax.text.unknown import CountingTokenizer
from luke_jax.text.word_piece import WordPieceTokenizer
from luke_jax.wiki.stages.linked_sentences import split_paragraph
from luke_jax.wiki.stages.page_stage import shards_of
from luke_jax.wiki.stages.stage import MANIFEST, read_finished

LEVELS = ("phrase", "entity")
UTTERANCES = 3  # of a dialogue that are an instance

Segment = Callable[[str], list[str]]  # a text to its phrases
Segmenter = Literal["spaces", "jieba"]


class Chunk(NamedTuple):
  """A stretch of a sentence, which may be an entity."""

  text: str
  is_entity: bool = False


class Turn(NamedTuple):
  """An utterance of a dialogue: its speaker and its words as pieces."""

  speaker: str
  pieces: Pieces


def unit_instances(
  source: Path, tokenizer: Tokenizer, segment: Segmenter, *, words: int, seed: int
) -> Iterator[UnitInstance]:
  """Returns the instances of a build of a wiki, of dialogues (.jsonl), or of a text."""
  cut = segmenter(segment)
  if source.name.endswith(".jsonl"):
    talks = _dialogues(source, tokenizer, cut)
    return dialogue_instances(talks, tokenizer, words=words, seed=seed)
  read = unit_documents if source.is_dir() else _text_documents
  return _pair_instances(read(source, tokenizer, cut), tokenizer, words=words, seed=seed)


def encoded(chunks: Sequence[Chunk], tokenizer: Tokenizer, segment: Segment) -> Pieces:
  """Returns the pieces of a sentence; beside each a bit for each level in whose unit it goes on.

  A phrase is what `segment` cuts, an entity a chunk of it; other pieces are no part of an entity.
  """
  ids: list[int] = []
  bits: list[int] = []
  for chunk in chunks:
    phrases = [row.ids for row in tokenizer.encode(segment(chunk.text))]
    start = len(ids)
    for phrase in phrases:
      ids += phrase
      bits += [int(place > 0) for place in range(len(phrase))]
    if chunk.is_entity:
      bits[start + 1 :] = [bit | 2 for bit in bits[start + 1 :]]
  return Pieces(np.array(ids, np.int32), np.array(bits, np.int32))


def instance(
  parts: Sequence[Pieces], types: Sequence[int], true: bool, tokenizer: Tokenizer
) -> UnitInstance:
  """Returns parts between special tokens, each word with its part's type."""
  special = tokenizer.special
  ids, kinds = [[special.start]], [[types[0]]]
  units: list[list[list[int]]] = [[[SPECIAL]] for _ in LEVELS]
  for part, kind in zip(parts, types, strict=True):
    ids += part.ids.tolist(), [special.end]
    kinds.append([kind] * (len(part.ids) + 1))
    for level, labels in enumerate(units):
      goes_on = (part.entities >> level & 1).astype(bool)
      goes_on[:1] = False  # a part may be cut inside a unit
      labels += np.where(goes_on, CONTINUED, FIRST).tolist(), [SPECIAL]
  joined = [list(itertools.chain(*rows)) for rows in (ids, kinds, *units)]
  arrays = [np.array(row, np.int32) for row in joined]
  return UnitInstance(arrays[0], arrays[1], np.stack(arrays[2:]), true)


def _pair_instances(
  documents: Iterable[Document], tokenizer: Tokenizer, *, words: int, seed: int
) -> Iterator[UnitInstance]:
  """Yields pairs of neighbouring parts of documents; of half, the second part is a random one."""
  settings = PairSettings(words=words, least_entities=0, seed=seed)
  maker = PairMaker(settings, tokenizer.special, vocabulary=None)  # type: ignore[arg-type]
  for first, second, random_next, _ in maker.parts(documents):
    yield instance((first, second), (0, 1), not random_next, tokenizer)


def _text_documents(path: Path, tokenizer: Tokenizer, segment: Segment) -> Iterator[Document]:
  """Yields the documents of a text: a sentence on each line, an empty line between documents."""
  document: list[Pieces] = []
  for line in _lines(path, "sentences in UTF-8, one on each line"):
    if line.strip():
      document.append(encoded([Chunk(line.strip())], tokenizer, segment))
    elif document:
      yield document
      document = []
  if document:
    yield document


def _dialogues(path: Path, tokenizer: Tokenizer, segment: Segment) -> Iterator[list[Turn]]:
  """Yields the dialogues of JSON lines: utterances of two speakers in turn, or with a speaker."""
  for number, line in enumerate(_lines(path, "dialogues as JSON lines"), start=1):
    if line.strip():
      turns = _turns(line, f"{path}: line {number}")
      yield [Turn(name, encoded([Chunk(text)], tokenizer, segment)) for name, text in turns]


def _lines(path: Path, expected: str) -> Iterator[str]:
  try:
    with path.open(encoding="utf-8-sig") as lines:
      yield from lines
  except FileNotFoundError:
    raise InputError(f"{path}: no such file; expected {expected}") from None
  except UnicodeDecodeError:
    raise InputError(f"{path}: not UTF-8; expected {expected}") from None
  except OSError as fault:
    raise InputError(f"{path}: {fault.strerror}; expected {expected}") from None


def _turns(line: str, place: str) -> list[tuple[str, str]]:
  expected = 'expected ["...", "..."] or [{"speaker": "A", "text": "..."}, ...]'
  try:
    value = json.loads(line)
  except ValueError:
    raise InputError(f"{place}: no JSON; {expected}") from None
  if not isinstance(value, list) or not value:
    raise InputError(f"{place}: no list of utterances; {expected}")
  turns = []
  for number, item in enumerate(value):
    if isinstance(item, str):
      item = {"speaker": "QR"[number % 2], "text": item}
    if not isinstance(item, dict):
      raise InputError(f"{place}: utterance {number + 1} is {item!r:.20}; {expected}")
    speaker, text = item.get("speaker"), item.get("text")
    if not isinstance(speaker, str) or not isinstance(text, str) or not text.strip():
      raise InputError(f"{place}: utterance {number + 1}: no speaker or no text; {expected}")
    turns.append((speaker, text))
  for first in range(len(turns) - UTTERANCES + 1):
    if len({name for name, _ in turns[first : first + UTTERANCES]}) == 1:
      raise InputError(
        f"{place}: utterances {first + 1} to {first + UTTERANCES} are all of {turns[first][0]!r};"
        " expected roles QRQ, QRR or QQR: join what a speaker says in a row"
      )
  return turns


def dialogue_instances(
  read: Iterable[list[Turn]], tokenizer: Tokenizer, *, words: int, seed: int
) -> Iterator[UnitInstance]:
  """Yields three utterances each; in half of them one is replaced by one of another dialogue.

  The first speaker's role is 0 (query), the other's 1 (response). The paper says neither how many
  are fakes nor how they are drawn.
  """
  rng, talks = np.random.default_rng(seed), [talk for talk in read if len(talk) >= UTTERANCES]
  if len(talks) < 2:
    raise InputError(f"{len(talks)} dialogues of {UTTERANCES} utterances; expected 2 or more")
  for number, talk in enumerate(talks):
    for first in range(len(talk) - UTTERANCES + 1):
      turns = talk[first : first + UTTERANCES]
      parts, true = [turn.pieces for turn in turns], rng.random() < 0.5
      if not true:
        other = talks[(number + 1 + int(rng.integers(len(talks) - 1))) % len(talks)]
        parts[int(rng.integers(UTTERANCES))] = other[int(rng.integers(len(other)))].pieces
      roles = [int(turn.speaker != turns[0].speaker) for turn in turns]
      yield instance(_cut(parts, words - UTTERANCES - 1), roles, bool(true), tokenizer)


def _cut(parts: Sequence[Pieces], room: int) -> list[Pieces]:
  """Returns parts of `room` pieces in all; the longest ones lose their ends."""
  lengths = [len(part.ids) for part in parts]
  while sum(lengths) > room:
    lengths[int(np.argmax(lengths))] -= 1
  return [Pieces(*(x[:n] for x in part)) for part, n in zip(parts, lengths, strict=True)]


def unit_documents(folder: Path, tokenizer: Tokenizer, segment: Segment) -> Iterator[Document]:
  """Yields the pages of a build, a sentence as pieces with the units that they go on in."""
  pages = shards_of(folder / "pages", read_finished(folder / "pages"))
  site = read_json(folder / "pages" / MANIFEST)["made_of"]["site"]
  for shard in range(len(pages)):
    for page in pages.read_pages(shard):
      split = (split_paragraph(paragraph, site["language"]) for paragraph in page.paragraphs)
      document = []
      for sentence in (sentence for paragraph in split for sentence in paragraph.sentences):
        chunks = [Chunk(text, place % 2 == 1) for place, text in enumerate(sentence.segments)]
        pieces = encoded(chunks, tokenizer, segment)
        if len(pieces.ids):
          document.append(pieces)
      yield document


def segmenter(name: Segmenter) -> Callable[[str], list[str]]:
  """Returns the function that cuts a text: at its spaces, or into Chinese words by jieba."""
  return str.split if name == "spaces" else _jieba()


def _jieba() -> Callable[[str], list[str]]:
  try:
    import jieba
  except ImportError:
    raise not_installed("jieba", "to cut Chinese into words", "zh") from None
  jieba.setLogLevel("WARNING")  # it reports its dictionary's loading
  folder = cache_folder() / "jieba"
  try:
    folder.mkdir(parents=True, exist_ok=True)
  except OSError as fault:
    expected = "a folder that can be written, as LUKE_JAX_CACHE can name one"
    raise InputError(f"{folder}: {fault.strerror}; expected {expected}") from None
  # Not the folder that all users of the machine may write to: it reads back what lies there.
  jieba.dt.tmp_dir = str(folder)
  return lambda text: [word for word in jieba.dt.lcut(text) if not word.isspace()]


def main(
  source: Annotated[Path, Positional, arg(metavar="BUILD|FILE")],
  /,
  *,
  tokenizer: Path,
  output: Path,
  segment: Segmenter = "spaces",
  words: int = 512,
  seed: int = 0,
) -> None:
  """Makes instances with units of words, to pretrain an ERNIE of Baidu.

  The source is the folder of luke-jax wiki build, whose links are the entities; a text with a
  sentence on each line and an empty line between documents; or dialogues as JSON lines (.jsonl).
  Phrases are what stands between spaces, or Chinese words by jieba.

      python -m data.ernie_baidu.units wiki/zh --tokenizer ernie-1.0 \\
        --segment jieba --output wiki.gz

  Args:
    source: Folder of a build, a text, or dialogues.
    tokenizer: Directory with the tokenizer of the model.
    output: File to write, gzipped if its name ends in .gz.
    segment: spaces, or jieba, of the extra zh.
    words: Largest number of word pieces of an instance, special ones included.
    seed: Seed of what is drawn.
  """
  if words < 8:
    raise InputError(f"--words: {words}; expected 8 or more")
  loaded = load_tokenizer(tokenizer, markers=False)
  if not isinstance(loaded, WordPieceTokenizer):
    raise InputError(f"{tokenizer}: pieces with spaces in them; expected a vocab.txt, as BERT has")
  read: Any = CountingTokenizer(loaded)
  instances = unit_instances(source, read, segment, words=words, seed=seed)
  with whole(output) as part:
    count = write_units(part, instances)
    if not count:
      raise InputError(f"{source}: no instances; expected documents of two sentences or more")
  read.warn(str(source))
  print(json.dumps({"file": str(output), "instances": count, "levels": list(LEVELS)}))


def write_units(path: Path, instances: Iterable[UnitInstance]) -> int:
  """Writes instances to a file, gzipped by its name, and returns their number."""
  count = 0
  with contextlib.ExitStack() as stack:
    file: Any = stack.enter_context(path.open("wb"))
    if path.name.endswith(".gz"):
      # Without a time in its head, the same instances are the same bytes.
      file = stack.enter_context(gzip.GzipFile("", "wb", fileobj=file, mtime=0))
    for instance in instances:
      places = np.arange(len(instance.input_ids))
      arrays = (instance.input_ids, instance.token_type_ids, places, *instance.units)
      numbers = (" ".join(map(str, np.asarray(x).tolist())) for x in arrays)
      fields = [*numbers, str(int(instance.true))]
      file.write(f"{';'.join(fields)}\n".encode())
      count += 1
  return count


if __name__ == "__main__":
  sys.exit(script(main, "python -m data.ernie_baidu.units"))
