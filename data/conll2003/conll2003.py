"""The builder of CoNLL-2003."""

from pathlib import Path
from typing import Any

import tensorflow_datasets as tfds

from luke_jax.formats.files import Faults

from .. import builders


def sentences(document: Any) -> int:
  """Returns a document's number of sentences; the papers count its line of -DOCSTART- as one."""
  return len(document.sentences) + 1


class Conll2003(tfds.core.GeneratorBasedBuilder):
  """English news documents with their named entities, of four kinds."""

  VERSION = tfds.core.Version("1.0.0")
  MANUAL_DOWNLOAD_INSTRUCTIONS = "See data/conll2003/README.md."
  SOURCE = builders.Source(
    task="ner",
    fields={"tokens": "texts", "sentences": "spans", "spans": "labelled spans"},
    files={"train": "eng.train", "dev": "eng.testa", "test": "eng.testb"},
    published={"train": 14987, "dev": 3466, "test": 3684},
    homepage="https://www.clips.uantwerpen.be/conll2003/ner/",
    citation="Tjong Kim Sang, De Meulder: Introduction to the CoNLL-2003 Shared Task, CoNLL 2003",
    counted=sentences,
    unit="sentences",
  )
  code_path = Path(__file__)  # else TFDS looks for it with a package that it does not install
  faults = Faults()
  _info = builders.info
  _split_generators = builders.split_generators
  _generate_examples = builders.generate_examples
