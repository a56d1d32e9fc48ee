"""The builder of Open Entity."""

from pathlib import Path

import tensorflow_datasets as tfds

from luke_jax.formats.files import Faults

from .. import builders


class OpenEntity(tfds.core.GeneratorBasedBuilder):
  """Entities in sentences with their types, the nine most general ones of Open Entity."""

  VERSION = tfds.core.Version("1.0.0")
  MANUAL_DOWNLOAD_INSTRUCTIONS = "See data/open_entity/README.md."
  SOURCE = builders.Source(
    task="typing",
    fields={"text": "text", "span": "span", "labels": "texts"},
    files={"train": "train.json", "dev": "dev.json", "test": "test.json"},
    published={"train": 1998, "dev": 1998, "test": 1998},
    homepage="https://github.com/thunlp/ERNIE",
    citation="Choi, Levy, Choi, Zettlemoyer: Ultra-Fine Entity Typing, ACL 2018",
  )
  code_path = Path(__file__)  # else TFDS looks for it with a package that it does not install
  faults = Faults()
  _info = builders.info
  _split_generators = builders.split_generators
  _generate_examples = builders.generate_examples
