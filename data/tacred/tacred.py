"""The builder of TACRED."""

from pathlib import Path

import tensorflow_datasets as tfds

from luke_jax.formats.files import Faults

from .. import builders


class Tacred(tfds.core.GeneratorBasedBuilder):
  """TACRED: the relation of two entities of a sentence, one of 41 or none."""

  VERSION = tfds.core.Version("1.0.0")
  MANUAL_DOWNLOAD_INSTRUCTIONS = "See data/tacred/README.md."
  SOURCE = builders.Source(
    task="relations",
    fields={"text": "text", "head": "span", "tail": "span", "label": "text"},
    files={"train": "train.json", "dev": "dev.json", "test": "test.json"},
    published={"train": 68124, "dev": 22631, "test": 15509},
    homepage="https://nlp.stanford.edu/projects/tacred/",
    citation="Zhang, Zhong, Chen, Angeli, Manning: Position-aware Attention and Supervised Data"
    " Improve Slot Filling, EMNLP 2017",
  )
  code_path = Path(__file__)  # else TFDS looks for it with a package that it does not install
  faults = Faults()
  _info = builders.info
  _split_generators = builders.split_generators
  _generate_examples = builders.generate_examples
