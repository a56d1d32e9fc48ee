"""Folders of pretraining records from a toy grammar, as `luke-jax wiki build` lays them out.

Entity k is written as one word of its own or, one time in three, as a word that four entities
share; the word before tells which of the four. So its words, where they are visible, tell it.
"""

import dataclasses
from pathlib import Path

import numpy as np
from array_record.python.array_record_module import ArrayRecordWriter
from tiny import TEXTS

from luke_jax.pipeline.metadata import Metadata, StoredFile, tokenizer_hash, write_metadata
from luke_jax.pipeline.stored import Record
from luke_jax.systems.luke import SIZES, LukeConfig
from luke_jax.text import EntityVocab, Processor, load_tokenizer, save_processor

ENTITIES = 40
SPECIAL = ("[PAD]", "[UNK]", "[MASK]")
FIRST = len(SPECIAL)
MAX_WORDS, MAX_ENTITIES, MAX_MENTION = 32, 6, 3
OWN, SHARED, CLUES, FILLER, LAST = 10, 60, 80, 90, 250  # ids of the tiny tokenizer's words


def toy_model(kind: str = "byte_level", **fields) -> LukeConfig:
  """A model for the toy corpus that trains in seconds."""
  small = {"hidden_size": 32, "intermediate_size": 64, "entity_emb_size": 16}
  sizes = {"vocab_size": load_tokenizer(TEXTS / kind).vocab_size, "entity_vocab_size": FIRST + 40}
  return dataclasses.replace(SIZES["tiny"], **(small | sizes | fields))


def toy_record(rng: np.random.Generator, page: int) -> Record:
  """A record of a page; pages from ENTITIES on are no entities."""
  words: list[int] = []
  entities, starts, ends = [], [], []
  while len(words) < MAX_WORDS - 2 - 6 and len(entities) < MAX_ENTITIES:
    words += rng.integers(FILLER, LAST, rng.integers(1, 4)).tolist()
    entity = int(rng.integers(ENTITIES))
    own = rng.random() < 2 / 3
    starts.append(len(words))
    words += [OWN + entity] if own else [CLUES + entity % 4, SHARED + entity // 4]
    entities.append(FIRST + entity)
    ends.append(len(words))
  number = FIRST + page if page < ENTITIES else -1
  return Record(number, *(np.array(x, np.int32) for x in (words, entities, starts, ends)))


def toy_records(count: int, seed: int = 0) -> list[Record]:
  """Records of as many pages as entities and half as many others, by turns."""
  rng = np.random.default_rng(seed)
  return [toy_record(rng, number % (ENTITIES + ENTITIES // 2)) for number in range(count)]


def write_corpus(
  folder: Path, records: list[Record], files: int = 2, kind: str = "byte_level"
) -> str:
  """Writes records with what belongs to them, and says where."""
  folder.mkdir(parents=True)
  titles = [*SPECIAL, *(f"Entity {k}" for k in range(ENTITIES))]
  vocab = EntityVocab({title: id for id, title in enumerate(titles)})
  tokenizer = load_tokenizer(TEXTS / kind)
  save_processor(Processor(tokenizer, vocab), folder)
  stored = []
  for number, part in enumerate(np.array_split(np.arange(len(records)), files)):
    name = f"records-{number:05d}-of-{files:05d}.array_record"
    writer = ArrayRecordWriter(str(folder / name), "group_size:1")
    for index in part:
      writer.write(records[index].to_bytes())
    writer.close()
    stored.append(StoredFile(name, len(part)))
  sizes = {"max_words": MAX_WORDS, "max_entities": MAX_ENTITIES, "max_mention": MAX_MENTION}
  sizes |= {"min_sentence": 1, "vocab_size": tokenizer.vocab_size, "entity_vocab_size": len(vocab)}
  digest = tokenizer_hash(tokenizer)
  write_metadata(
    Metadata(len(records), tuple(stored), language=None, tokenizer=digest, **sizes), folder
  )
  return str(folder)
