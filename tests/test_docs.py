"""Every example in README and docs runs as it stands, in a folder where `luke-base` is a model.

So are `mluke-base`, `luke-large-finetuned-conll-2003` and models of the other systems, all of them
tiny and of random numbers.
The API reference is one of these pages, whose examples are code blocks of reStructuredText.
Blocks marked python run, or are written to the file that the mark names, which later ones may
import, as where Python is started in the folder of the file; of blocks marked bash our
own commands and programs beside the package run, trainings for a few steps, but for what compiles
for TPUs, which is only read.
Blocks marked sh need other machines.
"""

import dataclasses
import importlib
import re
import shlex
import textwrap
from importlib.util import find_spec
from pathlib import Path

import jax
import pytest
from networks import network
from small_systems import small
from tiny import TEXTS, tiny_model

import luke_jax.serve
import luke_jax.show
from luke_jax.cli import COMMANDS, main, plan, script
from luke_jax.cli.arguments import bound
from luke_jax.heads.kinds import class_names
from luke_jax.model import Model
from luke_jax.models.head import Head
from luke_jax.models.network import initial_params
from luke_jax.models.system import System
from luke_jax.systems.bert import BertConfig, RobertaConfig, XlmRobertaConfig
from luke_jax.tasks.contract import TextTask
from luke_jax.tasks.known import CLASSES
from luke_jax.text import EntityVocab, Processor, load_tokenizer
from luke_jax.text.tokenizer import SPECIAL
from luke_jax.training.directory import FREE

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [page for page in PAGES if "_build" not in page.parts]
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
REFERENCE = ROOT / "docs" / "api.rst"
RST_BLOCK = re.compile(r"^\.\. code-block:: python\n\n((?:   .*\n|\n)+)", re.MULTILINE)
# Name and directive of what the reference has, and what is said of it until the next.
LISTED = re.compile(r"^\.\. auto(\w+):: ([\w.]+)\n(.*?)(?=^\.\. auto|\Z)", re.MULTILINE | re.DOTALL)
# Models of words, and the tokenizers of the tests that theirs are like.
WORDS = {
  "bert-base-uncased": (BertConfig, "word_piece"),
  "roberta-base": (RobertaConfig, "byte_level"),
  "xlm-roberta-base": (XlmRobertaConfig, "sentence_piece"),
}
# Pages without examples to run: what they name in the code is looked for instead.
READ_ONLY = tuple(
  f"docs/{name}.md"
  for name in (
    *("README", "alternatives", "architecture", "differences", "glossary", "measurements"),
    *("paper", "releasing", "stability", "status", "wiki-samples"),
  )
)
# Pages about what an extra installs, and a package of it.
NEEDED = {"onnx": "onnxruntime", "spacy": "spacy"}
GENERATED = ROOT / "docs" / "cli"  # of commands, which are tried elsewhere
RUN = [page for page in PAGES if str(page.relative_to(ROOT)) not in READ_ONLY]
RUN = [page for page in RUN if page.parent != GENERATED] + [REFERENCE]
EXAMPLES = 96  # of each file of the sample tasks: enough for each label
BESIDE = re.compile(r"python -m (experiments|data\.(ernie|wiki)_\w+)\.")  # programs
# `luke_jax/nn/attention.py::Attention`: a file or folder of the repository, and a name in it; or
# `experiments/ner.py:luke-large`, a row.
PLACE = re.compile(r"`((?:luke_jax|tests|benchmarks|experiments|data)/[\w./-]*)(?:::?([\w-]+))?`")
LINK = re.compile(r"\]\(([^)#:]*)(?:#([^)]+))?\)")  # to a file, and a heading in it
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


# A LUKE that starts from a BERT says which parameters are new.
# Their vocabulary of a few hundred pieces lacks most words.
@pytest.mark.filterwarnings(r"ignore:.* pieces are \[UNK\]")
@pytest.mark.filterwarnings("ignore:(bert-base-uncased|start). ")
# The tiny models read 64 word pieces.
@pytest.mark.filterwarnings(r"ignore:\d+ of \d+ texts are longer than their rows")
@pytest.mark.slow  # .ci/run has a section for them, and runs the README always
@pytest.mark.parametrize("page", RUN)
def test_examples(page, tmp_path, monkeypatch, one_device):
  if page.stem in NEEDED:
    pytest.importorskip(NEEDED[page.stem])
  monkeypatch.chdir(tmp_path)
  monkeypatch.syspath_prepend(tmp_path)
  (tmp_path / "experiments").symlink_to(ROOT / "experiments")
  copy_data(tmp_path / "data")
  text = page.read_text(encoding="utf-8")
  save_models(text)
  names: dict = {}
  ran = 0
  for language, file, code in blocks(page, text):
    if file:
      Path(file).write_text(code, encoding="utf-8")
    elif language == "python":
      exec(compile(code, str(page), "exec"), names)
      ran += 1
    elif language == "bash":
      ran += run_commands(code)
  assert ran


def blocks(page, text):
  """Language, file and code of each block."""
  if page != REFERENCE:
    return BLOCK.findall(text)
  return [("python", "", textwrap.dedent(code)) for code in RST_BLOCK.findall(text)]


def copy_data(folder):
  """The sample data, of whose tasks each file has its first examples."""
  folder.mkdir()
  for path in (ROOT / "data").iterdir():
    if path.name != "sample_tasks":
      (folder / path.name).symlink_to(path)
  for path in (ROOT / "data/sample_tasks").glob("*/*"):
    if path.suffix not in (".jsonl", ".conll"):
      continue  # __pycache__
    new = folder / path.relative_to(ROOT / "data")
    new.parent.mkdir(parents=True, exist_ok=True)
    end = "\n" if path.suffix == ".jsonl" else "\n\n"  # of a line, or of a sentence
    parts = path.read_text(encoding="utf-8").strip().split(end)[:EXAMPLES]
    new.write_text(end.join(parts) + end, encoding="utf-8")


def save_models(text):
  """The models that a page starts from."""
  tiny_model().save("luke-base")
  if "luke-large-finetuned-conll-2003" in text:
    tiny_model("LukeForEntitySpanClassification").save("luke-large-finetuned-conll-2003")
  if "mluke-base" in text:
    titles = {"en:Tokyo": 4, "de:Tokio": 4, "ja:東京都": 4, "en:Los Angeles": 5}
    ids = {title: id for id, title in enumerate(SPECIAL)} | titles
    tokenizer = load_tokenizer(TEXTS / "sentence_piece")
    processor = Processor(tokenizer, EntityVocab(ids, multilingual=True), max_length=64)
    sizes = {"vocab_size": tokenizer.vocab_size, "entity_vocab_size": 6}
    model = tiny_model(text=False, use_entity_aware_attention=False, **sizes)
    dataclasses.replace(model, tokenizer=tokenizer, processor=processor).save("mluke-base")
  for name, (system, words) in WORDS.items():
    if name in text:
      save_language_model(name, system, load_tokenizer(TEXTS / words, markers=False))


def save_language_model(name, system, tokenizer):
  """Writes a model of words with random parameters."""
  sizes = {"vocab_size": tokenizer.vocab_size, "pad_token_id": tokenizer.special.pad}
  config = small(system, max_position_embeddings=66, **sizes)
  made = network(class_names(system)["masked"], config)
  Model(made, initial_params(made, jax.random.key(0)), (), tokenizer).save(name)


def run_commands(code):
  lines = code.replace("\\\n", " ").splitlines()
  commands = [shlex.split(line, comments=True) for line in lines]
  ours = [x for x in commands if x[:1] == ["luke-jax"] or BESIDE.match(" ".join(x))]
  for words in ours:
    run_command(*words)
  return len(ours)


def run_command(program, *arguments):
  if program == "python":
    _, name, *rest = arguments
    assert script(importlib.import_module(name).main, name, rest) == 0
    return
  arguments = [*arguments]
  if arguments[0] == "parity" and not find_spec("torch"):
    return
  if arguments[0] == "plan":
    assert Path(arguments[1].partition(":")[0]).is_file()
    bound(plan.run, "luke-jax plan", arguments[1:])
    return
  if arguments[0] == "train" and arguments[1].startswith("experiments/"):
    arguments += ["--set", "run.steps=4"]
  learns_task = arguments[0] == "train" and arguments[1] in CLASSES
  if learns_task or arguments[:2] == ["experiment", "run"]:
    arguments += ["--set", "run.epochs=0.02", "--set", "run.evaluate_every=null"]
    arguments += ["--set", "run.minutes=null", "--set", "data.lengths=1"]
  if arguments[:2] == ["graph", "train"]:
    arguments += ["--set", "run.epochs=2"]
  assert main(arguments) == 0


def test_pages_say_how_to_get_a_model_of_words():
  """People who begin on a page have no `bert-base-uncased` beside them."""
  for page in PAGES:
    text = page.read_text(encoding="utf-8")
    if any("bert-base-uncased" in block[2] for block in BLOCK.findall(text)):
      assert "hf download google-bert/bert-base-uncased --local-dir" in text, page


def test_pages_have_examples_that_run():
  """A page whose commands are all marked sh would be believed and never tried."""
  for page in RUN:
    found = blocks(page, page.read_text(encoding="utf-8"))
    assert any(not file and language in ("python", "bash") for language, file, _ in found), page


def test_every_command_in_the_readme_exists():
  readme = PAGES[0].read_text(encoding="utf-8")
  for names in set(re.findall(r"^make (\w+)|`make (\w+)`", readme, re.MULTILINE)):
    assert f"\n{''.join(names)}:" in (ROOT / "Makefile").read_text(encoding="utf-8")
  for words in re.findall(r"luke-jax ([a-z-]+(?: [a-z]+)?)", readme):
    assert {words, words.split()[0]} & set(COMMANDS), words


def test_a_version_is_the_same_everywhere():
  for name, form in (
    ("pyproject.toml", 'version = "{}"'),
    ("CITATION.cff", "version: {}"),
    ("CHANGELOG.md", "## [{}] - 20"),
  ):
    line = form.format(luke_jax.__version__)
    assert f"\n{line}" in (ROOT / name).read_text(encoding="utf-8"), f"{name}: {line}"


def test_the_reference_has_every_name_that_people_use():
  reference = REFERENCE.read_text(encoding="utf-8")
  for module in (luke_jax, luke_jax.show, luke_jax.serve):
    for name in set(module.__all__) - {"show"}:
      assert re.search(rf"\b{name}\b", reference), f"{module.__name__}.{name}"


def test_every_name_of_the_reference_has_an_example():
  """It is in a block behind what is said of the name, and `test_examples` runs all of them."""
  reference = REFERENCE.read_text(encoding="utf-8")
  listed = {path: (kind, after) for kind, path, after in LISTED.findall(reference)}
  for path, (kind, after) in listed.items():
    names = [path.rpartition(".")[2]]
    if kind == "module":
      module = importlib.import_module(path)
      of_it = (k for k, x in vars(module).items() if getattr(x, "__module__", "") == path)
      names = [*getattr(module, "__all__", of_it)]
    code = "\n".join(RST_BLOCK.findall(after))
    missing = [name for name in names if not re.search(rf"\b{name}\b", code)]
    assert not missing, f"docs/api.rst: {path}: no example of {missing}"
  public = {f"luke_jax.{x}" for x in luke_jax.__all__}
  public |= {f"luke_jax.serve.{x}" for x in luke_jax.serve.__all__}
  public |= {f"{x.__module__}.{x.__qualname__}" for x in (TextTask, System, Head)}
  assert public <= listed.keys()


def test_what_may_change_in_a_folder_is_listed():
  training = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
  listed = training[training.index("These may") : training.index("## Checkpoints")]
  assert set(re.findall("`(.+?)`", listed)) == set(FREE)


@pytest.mark.parametrize("page", PAGES)
def test_names_lead_to_code(page):
  for place, name in PLACE.findall(page.read_text(encoding="utf-8")):
    path = ROOT / place
    assert path.exists(), f"{page}: {place}"
    if name:
      assert re.search(rf"\b{name}\b", path.read_text(encoding="utf-8")), f"{place}: {name}"


def test_links_lead_to_files():
  pages = [*PAGES, *ROOT.glob("*.md"), *ROOT.glob("experiments/**/*.md")]
  for page in pages:
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    for link, heading in LINK.findall(text):
      target = page.parent / link if link else page
      assert target.exists(), f"{page}: {link}"
      assert not heading or heading in headings(target), f"{page}: {link}#{heading}"


def headings(page):
  """What a code host calls the headings of a page in links."""
  lines = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
  return {re.sub(r"[^\w -]", "", line.lower()).replace(" ", "-") for line in lines}
