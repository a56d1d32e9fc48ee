"""The builder of ReCoRD."""

from pathlib import Path

import tensorflow_datasets as tfds

from luke_jax.formats.files import Faults

from .. import builders


class Record(tfds.core.GeneratorBasedBuilder):
  """Questions about news with a gap that an entity of the passage fills."""

  VERSION = tfds.core.Version("1.0.0")
  MANUAL_DOWNLOAD_INSTRUCTIONS = "See data/record/README.md."
  SOURCE = builders.Source(
    task="cloze",
    fields={"text": "text", "query": "text", "entities": "spans", "answers": "spans"},
    files={"train": "train.json", "dev": "dev.json"},
    published={"train": 100730, "dev": 10000},
    homepage="https://sheng-z.github.io/ReCoRD-explorer/",
    citation="Zhang, Liu, Liu, Gao, Duh, Van Durme: ReCoRD, arXiv:1810.12885, 2018",
    unit="questions",
  )
  code_path = Path(__file__)  # else TFDS looks for it with a package that it does not install
  faults = Faults()
  _info = builders.info
  _split_generators = builders.split_generators
  _generate_examples = builders.generate_examples
