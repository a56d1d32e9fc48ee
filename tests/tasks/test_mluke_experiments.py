"""The rows of experiments/mluke_large.py, and files in the form of the data sets that they name."""

import json

import pytest
from experiment_rows import EXPERIMENTS

from experiments.mluke.facts import read_templates
from luke_jax.cli import main
from luke_jax.errors import InputError
from luke_jax.formats.files import Faults
from luke_jax.tasks.ner.files import read
from luke_jax.training.experiment_files import experiment_and_paper

# Rate, batch, epochs, labels.
RECIPES = {"relations": (1e-5, 32, 5, 37), "qa": (2e-5, 32, 2, 0), "ner": (1e-5, 8, 5, 5)}


@pytest.mark.parametrize("name", RECIPES)
def test_a_row_says_what_the_paper_says(name):
  experiment, paper = experiment_and_paper(EXPERIMENTS / f"mluke_large.py:{name}")
  task = experiment.task
  rate, batch = experiment.optimizer.learning_rate, experiment.data.batch_size
  assert (rate, batch, experiment.run.epochs, len(task.labels)) == RECIPES[name]
  assert task.name == name and getattr(task, paper["split"])
  assert not experiment.model.use_entity_aware_attention  # its authors fine-tune without
  assert len([value for value in paper.values() if isinstance(value, float)]) == 1
  head = task.network(experiment.backbone).head
  assert getattr(head, "bias", None) == (True if name == "relations" else None)


@pytest.mark.parametrize(
  "path", sorted((EXPERIMENTS / "mluke").glob("*.jsonl")), ids=lambda path: path.stem
)
def test_templates_are_as_the_probe_reads_them(path):
  assert len(read_templates(path)) > 10


GERMAN = """-DOCSTART- -X- -X- -X- O

Anna Anna NE I-NC I-PER
Köhler Köhler NE I-NC I-PER
Oslo Oslo NE B-NC I-LOC
Bergen Bergen NE I-NC B-LOC
. . $. O O
"""
SPANISH = """La B-ORG
Coruña I-ORG
gana O

"""
DUTCH = """-DOCSTART- -DOCSTART- O
Anna N B-PER
woont V O
"""


@pytest.mark.parametrize(
  ("text", "names"),
  [
    (GERMAN, ["Anna Köhler", "Oslo", "Bergen"]),  # IOB1, five columns
    (SPANISH, ["La Coruña"]),
    (DUTCH, ["Anna"]),
  ],
)
def test_names_of_the_files_of_conll(text, names, tmp_path):
  path = tmp_path / "testb"
  path.write_text(text, encoding="utf-8")
  (document,) = read(path, Faults())
  assert [document.text[x.start : x.end] for x in document.spans] == names


def test_latin_1_is_refused_with_the_way_to_utf_8(tmp_path):
  path = tmp_path / "esp.testb"
  path.write_bytes(SPANISH.encode("latin-1"))
  with pytest.raises(InputError, match=r"line 2: byte 0xf1 is not UTF-8; .*`iconv -f WINDOWS-1252"):
    read(path, Faults())


CONTEXT = "《红楼梦》写于18世纪。"


def test_answers_of_mlqa_are_scored_by_the_language_of_their_passages(tmp_path, capsys):
  """English asks, Chinese answers: characters are words, its brackets punctuation."""
  question = {"id": "a", "question": "Which novel?"}
  question["answers"] = [{"text": "红楼梦", "answer_start": 1}]
  paragraphs = [{"context": CONTEXT, "qas": [question]}]
  content = json.dumps({"version": "1.0", "data": [{"title": "X", "paragraphs": paragraphs}]})
  named, plain = (tmp_path / f"{name}.json" for name in ("test-context-zh-question-en", "xquad.zh"))
  for path in (named, plain):
    path.write_text(content, encoding="utf-8")
  (tmp_path / "answers.json").write_text(json.dumps({"a": "《红楼》"}), encoding="utf-8")

  def f1(gold, *options):
    files = ["--gold", str(gold), "--predictions", str(tmp_path / "answers.json")]
    assert main(["score", "qa", *files, *options]) == 0
    return json.loads(capsys.readouterr().out)["f1"]

  assert f1(named) == f1(plain, "--language", "zh") == pytest.approx(2 * 1 * (2 / 3) / (5 / 3))
  assert f1(plain) == 0
  assert main(["score", "qa", "--gold", str(plain), "--predictions", "x", "--language", "fr"]) == 2
  assert "'fr': no language of MLQA; expected one of ar, de, en" in capsys.readouterr().err
