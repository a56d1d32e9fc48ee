"""`luke-jax new`."""

from typing import Annotated, Literal

from tyro.conf import Positional, UseAppendAction, arg

from luke_jax.convert.saving import save
from luke_jax.files import Path
from luke_jax.systems.tener.config import TenerConfig
from luke_jax.systems.tener.fresh import Choices, Files, fresh_model


def run(
  directory: Annotated[Path, Positional, arg(metavar="DIRECTORY")],
  /,
  *,
  train: Path,
  also: UseAppendAction[tuple[Path, ...]] = (),
  size: str = "tener-resume",
  vectors: Path | None = None,
  bigram_vectors: Path | None = None,
  sentence_vectors: Path | None = None,
  characters: bool = False,
  digits_as_zero: bool = False,
  bigrams: bool = False,
  least_bigrams: int = 1,
  least_characters: int = 2,
  character_encoder: Literal["adatrans", "transformer", "cnn", "none"] = "adatrans",
  columns: str = "",
  keep_scale: bool = False,
  seed: int = 0,
) -> None:
  """Makes a TENER that knows nothing yet, with the words of your files, to train for tagging.

  The sizes are those of a data set of the paper: tener-conll2003, tener-ontonotes5,
  tener-ontonotes4, tener-msra, tener-weibo or tener-resume.

      luke-jax new fresh --train a.conll --vectors glove.6B.100d.txt --also b.conll
      luke-jax train tagging --train a.conll --dev b.conll --model fresh --output runs/tener

  Args:
    directory: Directory of the new model.
    train: File of named entities to train on; its words are the vocabulary.
    also: A further file, whose words are taken in where they have a vector; as often as needed.
    size: Name of the sizes.
    vectors: Text file of vectors of words, in GloVe's or word2vec's form.
    bigram_vectors: The same for bigrams.
    sentence_vectors: Folder of vectors of every word of the files: sentences.txt and vectors.npy.
    characters: Take every character of the files' words as a word, as is usual in Chinese.
    digits_as_zero: Read every digit as 0.
    bigrams: Give pairs of neighbouring words embeddings of their own.
    least_bigrams: Number of times that a bigram stands in the training file at least.
    least_characters: Number of times that a character does.
    character_encoder: Encoder of a word's characters.
    columns: Columns of the files: word, tag or _ (not read) for each, as _,word,tag; else a guess.
    keep_scale: Leave vectors as files have them, instead of scaling each to a variance of one.
    seed: Seed of the parameters that no file gives.
  """
  choices = Choices(
    characters=characters,
    digits_as_zero=digits_as_zero,
    bigrams=bigrams,
    least_bigrams=least_bigrams,
    least_characters=least_characters,
    character_encoder=character_encoder,
    columns=tuple(columns.split(",")) if columns else (),
    keep_scale=keep_scale,
  )
  files = Files(train, also, vectors, bigram_vectors, sentence_vectors)
  model, coverages = fresh_model(size, files, choices, seed)
  save(model, directory)
  config = model.config
  assert isinstance(config, TenerConfig)
  for coverage in coverages:
    print(coverage)
  counts = f"{config.vocab_size} words, {config.character_vocab_size} characters"
  print(f"{directory}: {counts}, {config.bigram_vocab_size} bigrams")
