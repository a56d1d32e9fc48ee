"""`luke-jax data check` as a user runs it."""

import json
from pathlib import Path

import pytest

from luke_jax.cli import main

REPOSITORY = Path(__file__).resolve().parents[2]


def test_attributes_are_named_for_a_check_and_for_scores(tmp_path, monkeypatch, capsys):
  monkeypatch.chdir(tmp_path)
  values = [("a", "ann", "1"), ("b", "bob", "0"), ("c", "bob", "1")]
  lines = [{"text": text, "user": user, "label": label} for text, user, label in values]
  Path("gold.jsonl").write_text("".join(f"{json.dumps(x)}\n" for x in lines))
  said = [{"id": str(i), "label": "1", "scores": {"0": 0.4, "1": 0.6}} for i in (1, 2, 3)]
  Path("said.jsonl").write_text("".join(f"{json.dumps(x)}\n" for x in said))
  check = ["data", "check", "gold.jsonl", "--task"]
  assert main([*check, "classification"]) == 2
  assert "of task.attributes.names (in data check and score: of --attr" in capsys.readouterr().out
  assert main([*check, "classification", "--attributes", "user"]) == 0
  assert capsys.readouterr().out == (
    "gold.jsonl: examples: 3; faults: 0; labels: 1 2, 0 1; user: 2 values\n"
  )
  scores = ["score", "classification", "--gold", "gold.jsonl", "--predictions", "said.jsonl"]
  assert main([*scores, "--attributes", "user"]) == 0
  assert json.loads(capsys.readouterr().out)["accuracy"] == pytest.approx(2 / 3, abs=1e-5)
  for task, names, message in [
    ("ner", "user", "--attributes: ner reads none; expected it for classification"),
    ("classification", "a b", "--attributes: names: 'a b'; expected different names of letters"),
  ]:
    assert main([*check, task, "--attributes", names]) == 2
    assert capsys.readouterr().err.startswith(f"luke-jax: {message}")


def test_every_fault_of_a_file_with_its_line(tmp_path, capsys):
  path = tmp_path / "types.jsonl"
  lines = [
    {"text": "Ana sings.", "span": [0, 3], "labels": ["person", "singer"]},
    {"text": "Ana sings.", "span": [0, 30], "labels": []},
    {"text": "Bob sings.", "span": [0, 3], "labels": ["person"]},
    {"text": "Bob sings.", "span": [0, 3], "lables": ["person"]},
  ]
  path.write_text("".join(json.dumps(line) + "\n" for line in lines) + "{\n")
  assert main(["data", "check", str(path), "--task", "typing"]) == 2
  faults = capsys.readouterr().out.splitlines()
  summary = faults.pop()
  assert [fault.split(":")[1] for fault in faults] == [" line 2", " line 4", " line 5"]
  assert summary == f"{path}: examples: 2; faults: 3; labels: person 2, singer 1"
  path.write_text("".join(json.dumps(line) + "\n" for line in lines[::2]))
  assert main(["data", "check", str(path), "--task", "typing"]) == 0
  assert capsys.readouterr().out.count("\n") == 1


@pytest.mark.parametrize(
  ("name", "content", "line"),
  [
    ("empty.jsonl", "", "no examples; expected one at least"),
    ("broken.json", "{", "expected JSON"),
    ("table.csv", "text,label\nhello,x\n", "line 1: no column 'head'; expected text, head"),
  ],
)
def test_a_file_that_has_nothing(name, content, line, tmp_path, capsys):
  (tmp_path / name).write_text(content)
  assert main(["data", "check", str(tmp_path / name), "--task", "relations"]) == 2
  fault, summary = capsys.readouterr().out.splitlines()
  assert line in fault and summary.endswith("examples: 0; faults: 1")


def test_a_file_that_is_not_there(tmp_path, capsys):
  assert main(["data", "check", str(tmp_path / "gone.jsonl"), "--task", "relations"]) == 2
  told = capsys.readouterr()
  assert not told.out and told.err.count("\n") == 1
  assert "gone.jsonl: no such file; expected a file of examples" in told.err


def test_what_files_share_and_lack(tmp_path, capsys):
  train, test = tmp_path / "train.csv", tmp_path / "test.csv"
  train.write_text("Text;Label\n" + "".join(f"good {x};pos\n" for x in range(6)) + "bad;neg\n")
  test.write_text("text,label\ngood 3,pos\nworse,neg\nso so,none\n")
  assert main(["data", "check", str(train), str(test), "--task", "classification"]) == 0
  *files, both, rare = capsys.readouterr().out.splitlines()
  assert [line.partition(": ")[0] for line in files] == [str(train), str(test)]
  assert (
    both
    == f"{train} and {test}: 1 of the latter's examples are in both: scores on them are too high"
  )
  assert rare.endswith("less than 10 examples in the former: neg 1, none 0, pos 6")


def test_labels_of_relations_and_of_columns(tmp_path, capsys):
  tacred = REPOSITORY / "data/tacred/dummy_data/dev.json"
  assert main(["data", "check", str(tacred), "--task", "relations"]) == 0
  assert capsys.readouterr().out.endswith("labels: per:spouse 1, no_relation 1\n")
  conll = REPOSITORY / "data/conll2003/dummy_data/eng.train"
  assert main(["data", "check", str(conll), "--task", "ner"]) == 0
  assert capsys.readouterr().out.endswith("examples: 2; faults: 0; labels: LOC 4, PER 1, ORG 1\n")


def check(path, *options):
  return main(["data", "check", str(path), "--task", "ner", *options])


def test_which_column_is_read_as_words(tmp_path, capsys):
  path = tmp_path / "a.conll"
  path.write_text("0\tJohn\tB-PER\n1\tlives\tO\n\n0\tMary\tB-PER\n")
  assert check(path) == 0
  assert capsys.readouterr().out.splitlines() == [
    f"{path}: column 2 is read as words, since column 1 numbers the lines; --columns chooses"
    " another",
    "entities that can be found: 2 of 2",
    "example 1: [John](PER) lives",
    "example 2: [Mary](PER)",
    f"{path}: examples: 2; faults: 0; labels: PER 2",
  ]
  assert check(path, "--columns", "word,_,tag") == 0
  assert capsys.readouterr().out.splitlines()[1] == "example 1: [0](PER) 1"
  assert check(path, "--columns", "wrod,_,tag") == 2
  assert "columns: 'wrod,_,tag'; expected word once" in capsys.readouterr().err
  assert main(["data", "check", str(path), "--task", "qa", "--columns", "word"]) == 2
  assert (
    "--columns: qa has no such files; expected it for ner, classification, tagging"
    in capsys.readouterr().err
  )


def test_tags_are_repaired_on_request(tmp_path, capsys):
  path = tmp_path / "a.conll"
  path.write_text("EU I-ORG\nof O\n\nAna B-PER\nRome I-LOC\n\nBob B-PER\n")
  assert check(path) == 2
  assert "line 1: tag 'I-ORG'" in (told := capsys.readouterr().out) and "; --repair-tags" in told
  assert check(path, "--repair-tags") == 0
  told = capsys.readouterr().out.splitlines()
  assert told[0].startswith(f"{path}: tags read as conlleval reads them: 2, the first in line 1: ")
  assert told[-1].endswith("examples: 3; faults: 0; labels: PER 2, ORG 1, LOC 1")


def test_numbers_of_tags_have_names(tmp_path, capsys):
  path = tmp_path / "a.jsonl"
  path.write_text('{"id": "0", "tokens": ["EU", "rejects"], "ner_tags": [3, 0]}\n')
  assert check(path) == 2
  assert "ner_tags: 3, a number; expected tags such as B-PER" in capsys.readouterr().out
  assert check(path, "--tag-names", "O, B-PER, I-PER, B-ORG") == 0
  assert "example 0: [EU](ORG) rejects" in capsys.readouterr().out


def test_what_cannot_be_learnt(tmp_path, capsys):
  path = tmp_path / "a.jsonl"
  spans = [[0, 4, "PER"], [7, 8, "X"]]
  line = {"text": "Johnson lives here.", "spans": spans}
  path.write_text(json.dumps(line))
  model = ["--model", str(REPOSITORY / "data/sample_model")]
  pieces = "<s>·J·o·h·n·s·on l·iv·es here·.·</s>"
  for options, shown in (([], "Johnson lives here ."), (model, pieces)):
    assert check(path, *options) == 2
    assert capsys.readouterr().out.splitlines() == [
      f"{path}: no entity can be found; expected whole words",
      f"{path}: line 1: 'John' cannot be found: begins or ends inside a word",
      f"{path}: line 1: ' ' cannot be found: white space",
      "entities that can be found: 0 of 2",
      f"example 1: {shown}",
      f"{path}: examples: 1; faults: 1; labels: PER 1, X 1",
    ]
  path.write_text(json.dumps(line | {"spans": [*spans, [0, 7, "PER"]]}))
  assert check(path, *model) == 0  # the rest can be learnt
  told = capsys.readouterr().out
  assert "entities that can be found: 1 of 3" in told and "[J·o·h·n·s·on](PER) l·iv·es" in told
  assert check(path, "--model", str(tmp_path)) == 2
  assert not (told := capsys.readouterr()).out and told.err.count("\n") == 1


def test_examples_of_other_tasks_as_a_model_reads_them(capsys):
  path = REPOSITORY / "data/sample_tasks/relations/dev.jsonl"
  command = ["data", "check", str(path), "--task", "relations"]
  assert main([*command, "--model", str(REPOSITORY / "data/sample_model")]) == 0
  first, second, _ = capsys.readouterr().out.splitlines()
  assert first.startswith("example dev-1: <s>·") and "[<ent2> H·inosh·ir·o·<ent2>]" in first
  assert second.startswith("example dev-2: <s>·[<ent>·")


def test_what_is_doubtful(tmp_path, capsys):
  path = tmp_path / "a.jsonl"
  objects = [{"text": "good", "label": "x"}] * 18 + [{"text": "good", "label": "y"}]
  path.write_text("".join(json.dumps(x) + "\n" for x in objects))
  assert main(["data", "check", str(path), "--task", "classification"]) == 0
  line = capsys.readouterr().out.strip()
  assert line.endswith("repeated: 18, 1 of them with other labels; unbalanced: x is most of them")
  path.write_text("".join(json.dumps(x) + "\n" for x in objects[:1]))
  assert main(["data", "check", str(path), "--task", "classification"]) == 0
  assert "a single label: nothing can be learnt" in capsys.readouterr().out
