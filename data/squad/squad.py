"""The builder of SQuAD 1.1."""

from pathlib import Path

import tensorflow_datasets as tfds

from luke_jax.formats.files import Faults

from .. import builders


class Squad(tfds.core.GeneratorBasedBuilder):
  """Questions about paragraphs of Wikipedia that a stretch of the paragraph answers."""

  VERSION = tfds.core.Version("1.0.0")
  MANUAL_DOWNLOAD_INSTRUCTIONS = "See data/squad/README.md."
  SOURCE = builders.Source(
    task="qa",
    fields={"text": "text", "question": "text", "title": "text", "answers": "spans"},
    files={"train": "train-v1.1.json", "dev": "dev-v1.1.json"},
    published={"train": 87599, "dev": 10570},
    homepage="https://rajpurkar.github.io/SQuAD-explorer/",
    citation="Rajpurkar, Zhang, Lopyrev, Liang: SQuAD: 100,000+ Questions for Machine Comprehension"
    " of Text, EMNLP 2016",
    unit="questions",
  )
  code_path = Path(__file__)  # else TFDS looks for it with a package that it does not install
  faults = Faults()
  _info = builders.info
  _split_generators = builders.split_generators
  _generate_examples = builders.generate_examples
