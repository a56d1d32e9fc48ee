"""`luke-jax data units`."""

import json
from typing import Annotated, Any

from tyro.conf import Positional, arg

from luke_jax.errors import InputError
from luke_jax.files import Path, whole
from luke_jax.pipeline.unit_pairs import (
  LEVELS,
  dialogue_instances,
  dialogues,
  pair_instances,
  text_documents,
)
from luke_jax.pipeline.units import write_units
from luke_jax.text import load_tokenizer
from luke_jax.text.segments import Segmenter, segmenter
from luke_jax.text.unknown import CountingTokenizer
from luke_jax.text.word_piece import WordPieceTokenizer
from luke_jax.wiki.stages.linked_documents import unit_documents


def run(
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

      luke-jax data units wiki/zh --tokenizer ernie-1.0 --segment jieba --output wiki.gz

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
  cut = segmenter(segment)
  if source.name.endswith(".jsonl"):
    instances = dialogue_instances(dialogues(source, read, cut), read, words=words, seed=seed)
  elif source.is_dir():
    pages = unit_documents(source, read, cut)
    instances = pair_instances(pages, read, words=words, seed=seed)
  else:
    documents = text_documents(source, read, cut)
    instances = pair_instances(documents, read, words=words, seed=seed)
  with whole(output) as part:
    count = write_units(part, instances)
    if not count:
      raise InputError(f"{source}: no instances; expected documents of two sentences or more")
  read.warn(str(source))
  print(json.dumps({"file": str(output), "instances": count, "levels": list(LEVELS)}))
