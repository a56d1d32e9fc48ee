"""`luke-jax convert`, `new`, `export`, `push`, `parity` and `entities add`: model directories."""

import warnings
from collections import defaultdict
from typing import Annotated

import numpy as np
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text
from tyro.conf import OmitArgPrefixes, Positional, UseAppendAction, arg

from luke_jax.cli.process import stderr_console
from luke_jax.convert import text_side
from luke_jax.convert.adapters import is_adapter_directory
from luke_jax.convert.card import ORIGIN, OURS, card_facts, with_record, write_parity
from luke_jax.convert.loading import read_model
from luke_jax.convert.parts import ModelParts
from luke_jax.convert.reading import named_directory, read
from luke_jax.convert.reading import push as push_model
from luke_jax.convert.saving import TRANSFORMERS, Form, number_of_tensors, save
from luke_jax.convert.tensors import Dtype
from luke_jax.convert.text_side import add_entities
from luke_jax.doctor.inventory import version, wrong_tokenizers
from luke_jax.errors import InputError
from luke_jax.files import Path, check_place, read_text, sizes, write_json
from luke_jax.files.copies import local
from luke_jax.parity import Difference, Parity, compare
from luke_jax.runs.models import backbone_of, export, model_directory
from luke_jax.systems.tener.config import TenerConfig
from luke_jax.systems.tener.fresh import Choices, Files, fresh_model
from luke_jax.terminal import Console
from luke_jax.text import load_entity_vocab
from luke_jax.training.experiment_files import load_experiment


def convert(
  source: Annotated[Path, Positional, arg(metavar="SOURCE")],
  target: Annotated[Path, Positional, arg(metavar="TARGET")],
  /,
  *,
  dtype: Dtype = "float32",
  form: Form = TRANSFORMERS,
  lite: bool = False,
  as_encoder: bool = False,
  tokenizer: Path | None = None,
  entity_vocab: Path | None = None,
  backbone: Path | None = None,
) -> None:
  """Reads a model of any origin and writes it as a directory for luke_jax and transformers.

  The source is a Hugging Face directory (LUKE, mLUKE, or the RoBERTa or XLM-R that pretraining
  starts from), an archive of LUKE's authors, a directory of ERNIE's or TENER's authors, or an
  adapter.
  `luke_jax.load` and transformers 4 and 5 read the result.

      luke-jax convert luke_base_500k.tar.gz luke-base --tokenizer roberta-base
      luke-jax convert left-to-right encoder --as-encoder

  Args:
    source: Directory or archive to read.
    target: Directory to write.
    dtype: Type of the numbers on disk.
    form: Names and files of the weights: pytorch writes pytorch_model.bin and, for an ERNIE, the
      ernie_config.json that its authors' programs read; those of Paddle are for an ERNIE of Baidu;
      fastnlp writes a pytorch_model.bin for the program of TENER's authors.
    lite: Keeps the special entities only.
    as_encoder: Makes a model that reads both ways of one that reads from left to right, such as a
      RobertaForCausalLM; other commands refuse those.
    tokenizer: Directory with the tokenizer's files, if the source has none.
    entity_vocab: Entity vocabulary for a source that has no entities; their parts are initialised.
    backbone: Directory of the backbone of an adapter, if luke-jax get does not know it.
  """
  console = stderr_console()
  if target.exists() and target.resolve() == source.resolve():
    raise InputError(f"{target}: the source; expected another directory")
  vocab = load_entity_vocab(entity_vocab) if entity_vocab else None
  with console.status(f"reading {source}"):
    fields = {"tokenizer": tokenizer, "entity_vocab": vocab, "as_encoder": as_encoder}
    model = read(source, backbone=backbone, **fields).merged
  if OURS not in model.rest:
    model = with_record(model, {"name": source.name, **card_facts(source)}, ORIGIN)
  _write(text_side.lite(model) if lite else model, target, form, dtype)


def _write(model: ModelParts, target: Path, form: Form, dtype: Dtype) -> None:
  columns = (TextColumn("writing"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
  with Progress(*columns, console=stderr_console(), transient=True) as progress:
    task = progress.add_task("", total=number_of_tensors(model))
    save(model, target, dtype=dtype, form=form, progress=lambda name: progress.advance(task))
  size = sum(sizes(target).values())
  print(f"{target}: {model.architecture}, {size / 1e6:,.0f} MB, {dtype}; {model.report}")


def export_run(
  source: Annotated[Path, Positional, arg(metavar="RUN")],
  target: Annotated[Path, Positional, arg(metavar="DIRECTORY")],
  /,
  *,
  experiment: Path | None = None,
  adapter: bool = False,
) -> None:
  """Writes a run's best checkpoint, or its newest if no metric was named, as a model directory.

  `luke_jax.load` and transformers read the result. Tokenizer and vocabulary are those of the
  records that a pretraining read, or of the model that another run started from.

      luke-jax export runs/tiny tiny-luke

  Args:
    source: Folder of a run.
    target: Directory to write.
    experiment: Experiment file of the run, if it defines a task or a system of its own.
    adapter: Writes only what a run with optimizer.adapter changed, for luke_jax.load alone.
  """
  loaded = load_experiment(experiment) if experiment else None
  model, step = export(source, target, loaded, adapter=adapter)
  print(f"{target}: {model.architecture} of step {step}")


def parity(
  directory: Annotated[Path, Positional, arg(metavar="DIRECTORY")],
  /,
  *,
  tolerance: float = 1e-4,
  output: Path = Path("parity.json"),
  card: bool = False,
) -> int:
  """Compares a model directory with transformers, number by number.

  Both sides read the directory and run in float32 on sentences with 0, 1 and many entities. The
  status is 1 if a key is missing or unknown, or a difference is above the tolerance.

      luke-jax parity luke-base
      luke-jax parity runs/ner/model --card

  Args:
    directory: Model directory that both sides can read, or the name of a model.
    tolerance: Largest absolute difference to accept.
    output: File for every figure, as JSON.
    card: Writes the result in the directory's model card too.
  """
  check_place(output)
  directory = named_directory(directory)
  if fault := wrong_tokenizers(version("transformers")):
    warnings.warn(f"{fault}; the numbers compared here are of luke_jax's ids", stacklevel=2)
  with stderr_console().status(f"comparing {directory}"):
    parity = compare(directory, tolerance)
  console = Console()
  table = Table("keys", "number", "which", title=parity.directory)
  for what, names in parity.keys.items():
    table.add_row(what, str(len(names)), ", ".join(names[:5]) + (" …" if len(names) > 5 else ""))
  console.print(table)
  console.print(_numbers_table(parity))
  write_json(output, parity.as_json())
  verdict = "equal" if parity.passed else "DIFFERENT"
  largest = max(row.largest for rows in parity.batches.values() for row in rows)
  sentence = (
    f"{verdict}: {parity.architecture}, largest difference {largest:.1e}, tolerance"
    f" {tolerance:.0e}, transformers {parity.transformers}"
  )
  if card:
    write_parity(directory, f"{sentence}; in float32, by `luke-jax parity`.")
  print(f"{sentence}; every figure in {output}")
  return 0 if parity.passed else 1


def _numbers_table(parity: Parity) -> Table:
  """Returns a table with a row for every output and layer; the heads of a layer share one."""
  table = Table("largest (mean)", *parity.batches, title="against transformers")
  columns = [_by_layer(rows) for rows in parity.batches.values()]
  for name in dict.fromkeys(name for column in columns for name in column):
    table.add_row(name, *(_parity_cell(column.get(name), parity.tolerance) for column in columns))
  return table


def _by_layer(rows: list[Difference]) -> dict[str, list[Difference]]:
  grouped = defaultdict(list)
  for row in rows:
    grouped[row.what.partition(", head")[0]].append(row)
  return grouped


def _parity_cell(rows: list[Difference] | None, tolerance: float) -> Text:
  if not rows:
    return Text()
  worst = max(rows, key=lambda row: row.largest)
  head = worst.what.partition(", head ")[2]
  text = f"{worst.largest:.1e} ({worst.mean:.0e})" + (f" head {head}" if head else "")
  return Text(text, "" if worst.largest <= tolerance else "red")


def entities_add(
  source: Annotated[Path, Positional, arg(metavar="SOURCE")],
  titles: Annotated[Path, Positional, arg(metavar="TITLES")],
  target: Annotated[Path, Positional, arg(metavar="TARGET")],
  /,
  *,
  vectors: Path | None = None,
  language: str | None = None,
) -> None:
  """Adds entities to a trained model's vocabulary.

  The vectors of the entities it had stay the same to the bit. The new ones start as copies of
  `[MASK]`, or from vectors.

      luke-jax entities add luke-base titles.txt luke-base-mine

  Args:
    source: Model directory to read.
    titles: Text file, one title a line.
    target: Model directory to write.
    vectors: NumPy file (.npy) with a row of the entity embedding's width for each title.
    language: Language of the titles, for a vocabulary of several languages.
  """
  if target.exists() and target.resolve() == source.resolve():
    raise InputError(f"{target}: the source; expected another directory")
  names = _titles(titles)
  rows = _vectors(vectors) if vectors else None
  model = add_entities(read_model(source), names, vectors=rows, language=language)
  save(model, target)
  total = model.backbone.entities
  print(f"{target}: {len(names)} entities added, ids {total - len(names)} to {total - 1}")


def _titles(path: Path) -> list[str]:
  titles = [x.strip() for x in read_text(path).removeprefix("\ufeff").rstrip("\n").split("\n")]
  if "" in titles:
    raise InputError(f"{path}: line {titles.index('') + 1} is empty; expected a title")
  return titles


def _vectors(path: Path) -> np.ndarray:
  try:
    array = np.load(local(path), allow_pickle=False)
  except (OSError, ValueError, EOFError) as fault:
    raise InputError(f"{path}: {fault}; expected an array in a .npy file") from None
  if not isinstance(array, np.ndarray):
    raise InputError(f"{path}: several arrays; expected one, in a .npy file")
  return array


def push(
  source: Annotated[Path, Positional, arg(metavar="MODEL")],
  name: Annotated[str, Positional, arg(metavar="OWNER/NAME")],
  /,
  *,
  public: bool = False,
  dry_run: bool = False,
  adapter: bool = False,
  dtype: Dtype = "float32",
  backbone: Path | None = None,
) -> None:
  """Sends a model with its card to Hugging Face's hub, where it is private unless you say --public.

  What is sent is what `model.save` writes, and --dry-run lists it. One that is there already keeps
  its visibility, and loses the files of an earlier model. Your token is that of `hf auth login`, or
  HF_TOKEN.

      luke-jax push runs/ner me/names --dry-run
      luke-jax push runs/ner me/names

  Args:
    source: Directory or name of a model, or the folder of a run.
    name: The owner, which is you or an organisation of yours, and the model's name there.
    public: Lets everyone see a model that is new.
    dry_run: Lists the files and sends nothing.
    adapter: Sends an adapter as it is, for luke_jax alone, instead of a whole model.
    dtype: Type of the weights of a whole model.
    backbone: Directory of the backbone of an adapter, if luke-jax get does not know it.
  """
  directory = model_directory(source)
  if adapter and not is_adapter_directory(directory):
    raise InputError(f"--adapter: {source} is a whole model; expected an adapter")
  model = read(directory, backbone=backbone or backbone_of(source))
  with stderr_console().status(f"{'listing' if dry_run else 'sending'} {name}"):
    sent = push_model(model, name, public=public, dry_run=dry_run, adapter=adapter, dtype=dtype)
  for file, size in sent.files.items():
    print(f"{size:>15,}  {file}")
  print(f"{sum(sent.files.values()):>15,}  bytes, {sent.address or 'none of which were sent'}")


def new(
  directory: Annotated[Path, Positional, arg(metavar="DIRECTORY")],
  /,
  *,
  train: Path,
  also: UseAppendAction[tuple[Path, ...]] = (),
  size: str = "tener-resume",
  vectors: Path | None = None,
  bigram_vectors: Path | None = None,
  sentence_vectors: Path | None = None,
  seed: int = 0,
  choices: OmitArgPrefixes[Choices],
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
    seed: Seed of the parameters that no file gives.
  """
  files = Files(train, also, vectors, bigram_vectors, sentence_vectors)
  model, coverages = fresh_model(size, files, choices, seed)
  save(model, directory)
  config = model.config
  assert isinstance(config, TenerConfig)
  for coverage in coverages:
    print(coverage)
  counts = f"{config.vocab_size} words, {config.character_vocab_size} characters"
  print(f"{directory}: {counts}, {config.bigram_vocab_size} bigrams")
