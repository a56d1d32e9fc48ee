"""Trains the sample wiki's tokenizer: python -m data.sample_wiki.train_tokenizer [FOLDER].

A byte-level BPE of 2,000 pieces, numbered as RoBERTa's: special tokens first, <mask> last.
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from luke_jax.text.tokenizer_files import load_tokenizer, save_tokenizer

from .generate import english_articles
from .sentences import plain
from .world import FOLDER, World, read_world

SIZE = 2_000


def texts(world: World) -> Iterator[str]:
  """The paragraphs and list items of the English articles, without markup."""
  for article in english_articles(world):
    for section in article.sections:
      yield from (" ".join(plain(s)[0] for s in paragraph) for paragraph in section.paragraphs)
      yield from (plain(item)[0] for item in section.items)


def train(folder: Path, world: World) -> None:
  """Writes the tokenizer's files."""
  tokenizer = Tokenizer(models.BPE())
  tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
  trainer = trainers.BpeTrainer(
    vocab_size=SIZE - 1,
    special_tokens=["<s>", "<pad>", "</s>", "<unk>"],
    initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    show_progress=False,
  )
  tokenizer.train_from_iterator(texts(world), trainer)
  with tempfile.TemporaryDirectory() as name:
    scratch = Path(name)
    tokenizer.model.save(str(scratch))
    lines = (scratch / "merges.txt").read_text(encoding="utf-8").splitlines()[1:]
    merges = [(first, second) for first, _, second in (line.partition(" ") for line in lines)]
    vocab = tokenizer.get_vocab()
    models.BPE({**vocab, "<mask>": len(vocab)}, merges).save(str(scratch))
    save_tokenizer(load_tokenizer(scratch), folder)


if __name__ == "__main__":
  train(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER / "tokenizer", read_world())
