"""Shards of a corpus in, shards with answers out: each whole, once, and the same from every run."""

import gzip
import itertools
import json
import signal
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import tiny_model

import luke_jax
from luke_jax.cli import main
from luke_jax.errors import InputError
from luke_jax.formats import shards as forms
from luke_jax.formats.files import of_corpus
from luke_jax.inference import batches, corpus
from luke_jax.inference.batches import CompiledShapes, on_all_devices
from luke_jax.systems.bert import BertConfig
from luke_jax.tasks.known import CLASSES, task_class
from luke_jax.text.rows import Row, Sizes

TEXTS = [
  "Ana lives in Tokyo.",
  "Beyoncé lives in Los Angeles, said Ana.",
  "Ana",
  "Tokyo is a city.",
]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
  path = tmp_path_factory.mktemp("models") / "ner"
  tiny_model("LukeForEntitySpanClassification", hidden_size=8, num_hidden_layers=1).save(path)
  return str(path)


@pytest.fixture(autouse=True)
def one_device(monkeypatch):
  """Programs for one device compile faster than for the suite's eight."""
  monkeypatch.setattr(corpus, "on_all_devices", lambda model: model)


@pytest.fixture
def files(tmp_path, monkeypatch):
  """A corpus of every form, with columns beside the text and one name in two folders."""
  monkeypatch.chdir(tmp_path)
  rows = [{"text": text, "n": number} for number, text in enumerate(TEXTS)]
  lines = "".join(json.dumps(row) + "\n" for row in rows)
  for folder in ("corpus/a", "corpus/b"):
    Path(folder).mkdir(parents=True)
  Path("corpus/a/x.jsonl").write_text(lines)
  Path("corpus/b/x.jsonl").write_text(lines.replace('"n": ', '"n": 1'))
  with gzip.open("corpus/packed.jsonl.gz", "wt") as file:
    file.write(lines)
  Path("corpus/plain.txt").write_text("\n\n".join(TEXTS) + "\n")
  Path("corpus/README.md").write_text("no shard")
  table = pa.table({"sentence": TEXTS, "n": pa.array(range(4), pa.int16()), "tags": [[1]] * 4})
  pq.write_table(table, "corpus/table.parquet")
  with pa.ipc.new_stream("corpus/saved.arrow", table.schema) as stream:
    stream.write_table(table)
  return Path("corpus")


def contents(folder):
  """The bytes of all shards; a manifest also says how the folder was called."""
  files = (x for x in folder.rglob("*") if x.is_file() and x.name != "manifest.json")
  return {str(x.relative_to(folder)): x.read_bytes() for x in files}


def read(path):
  opened = gzip.open if path.suffix == ".gz" else open
  if path.suffix == ".parquet":
    return pq.read_table(path).to_pylist()
  with opened(path, "rt", encoding="utf-8") as file:
    return [json.loads(line) for line in file]


def predict(model, *arguments):
  return main(["predict", "ner", model, *map(str, arguments)])


def test_every_form_keeps_its_rows_and_gets_the_answers_of_the_model(model, files):
  assert predict(model, files, "--output", "out") == 0
  names = {"a/x.jsonl", "b/x.jsonl", "packed.jsonl.gz", "plain.jsonl"}
  names |= {"table.parquet", "saved.parquet"}
  assert contents(Path("out")).keys() == names
  expected = [
    [x._asdict() | {"score": round(x.score, 4)} for x in found]
    for found in luke_jax.load(model).predict(TEXTS)
  ]
  assert any(expected)
  for name in names:
    rows = read(Path("out", name))
    assert [row["prediction"] for row in rows] == expected
    given = read(files / name) if name.startswith(("a", "b", "pa", "t")) else rows
    assert [row | {"prediction": None} for row in rows] == [
      row | {"prediction": None} for row in given
    ]
  table = pq.read_table("out/table.parquet").schema
  assert table.field("n").type == pa.int16() and table.names[:3] == ["sentence", "n", "tags"]


def test_a_run_that_was_ended_goes_on_and_gives_the_same_bytes(model, files, monkeypatch, capsys):
  assert predict(model, files, "--output", "whole/") == 0
  made, answered = [], corpus.AnsweredShard.__call__

  def ended(self, shard):
    if len(made) == 3:
      raise KeyboardInterrupt
    made.append(shard)
    return answered(self, shard)

  monkeypatch.setattr(corpus.AnsweredShard, "__call__", ended)
  assert predict(model, files, "--output", "out") == 130
  assert "interrupted" in capsys.readouterr().err
  first = made.copy()
  made[:] = []
  monkeypatch.setattr(
    corpus.AnsweredShard, "__call__", lambda *x: made.append(x[1]) or answered(*x)
  )
  assert predict(model, files, "--output", "out") == 0
  assert sorted(first + made) == list(range(6))
  assert contents(Path("out")) == contents(Path("whole"))
  made[:] = []
  assert predict(model, files, "--output", "out") == 0
  assert not made and "made before" in capsys.readouterr().out


def test_a_source_that_was_mended_is_answered_again(model, tmp_path, monkeypatch, capsys):
  monkeypatch.chdir(tmp_path)
  corpus_of = {name: tmp_path / f"{name}.jsonl" for name in ("a", "b", "c")}
  for name, source in corpus_of.items():
    source.write_text('{"text": 3}\n' if name == "c" else '{"text": "Ana"}\n')
  assert predict(model, *corpus_of.values(), "--output", "out/", "--skip-bad") == 0
  assert predict(model, *corpus_of.values(), "--output", "mended/") == 2
  assert "line 1: text: 3; expected a string" in capsys.readouterr().err
  corpus_of["b"].write_text('{"text": "Rui"}\n')
  corpus_of["c"].write_text('{"text": "Ana"}\n')
  made, answered = [], corpus.AnsweredShard.__call__
  monkeypatch.setattr(
    corpus.AnsweredShard, "__call__", lambda *x: made.append(x[1]) or answered(*x)
  )
  assert predict(model, *corpus_of.values(), "--output", "mended/") == 0
  assert made == [1, 2]
  assert [row["text"] for row in read(Path("mended/b.jsonl"))] == ["Rui"]
  assert predict(model, *corpus_of.values(), "--output", "out/", "--skip-bad") == 2  # is finished
  assert "out: made with other files; expected the same" in capsys.readouterr().err


def test_other_settings_are_refused(model, files, capsys):
  sources = [files / "a", files / "b"]
  assert predict(model, *sources, "--output", "out/") == 0
  before = contents(Path("out"))
  for other, what in (
    ([*sources, "--threshold", 0.5], "options"),
    ([files / "a", files / "plain.txt"], "files"),
  ):
    assert predict(model, *other, "--output", "out/") == 2
    assert f"out: made with other {what}; expected the same" in capsys.readouterr().err
  Path("out/begun.json").write_text('"another"')
  Path("out/manifest.json").unlink()
  assert predict(model, *sources, "--output", "out/") == 2
  assert "made with other files, model, options, version;" in capsys.readouterr().err
  assert before.keys() >= contents(Path("out")).keys() - {"begun.json"}


def test_faulty_rows_are_refused_or_written_apart(model, files, capsys):
  shard = files / "bad.jsonl"
  shard.write_text(
    '{"text": "Ana"}\n{"text": 3}\n\n{"n": 4}\n{\n{"text": "Ana", "prediction": 1}\n'
  )
  assert predict(model, shard, "--output", "out/") == 2
  fault = "corpus/bad.jsonl: line 2: text: 3; expected a string; --skip-bad leaves it out\n"
  assert capsys.readouterr().err.endswith(fault)
  assert predict(model, shard, "--output", "out/", "--skip-bad") == 0  # the same folder goes on
  Path("out").rename("bad")
  assert "1 texts in 1 shards" in (said := capsys.readouterr().out) and "4 faulty rows" in said
  assert [row["text"] for row in read(Path("bad/bad.jsonl"))] == ["Ana"]
  faulty = read(Path("bad/bad.jsonl.faulty.jsonl"))
  places = [x["fault"].partition(":")[2].split(":")[0] for x in faulty]
  assert places == [f" line {n}" for n in (2, 4, 5, 6)] and faulty[0]["row"] == '{"text": 3}'
  assert predict(model, "bad/", "--output", "again/") == 2  # its rows have a prediction
  assert "has a column prediction" in capsys.readouterr().err
  pq.write_table(pa.table({"text": ["Ana"], "prediction": [1]}), "odd.parquet")
  assert predict(model, "odd.parquet", "--output", "odd/", "--skip-bad") == 2
  assert "odd.parquet: has a column prediction; expected" in capsys.readouterr().err


def test_files_of_others_stay_and_shards_that_changed_are_refused(model, files, capsys):
  assert predict(model, files / "a", "--output", "out/") == 0
  Path("out/mine").mkdir()
  for name in ("out/mine/x.txt", "out/README.md"):
    Path(name).write_text("Ana")
  assert predict(model, files / "a", "--output", "out/") == 0
  assert "made before" in capsys.readouterr().out
  Path("out/x.jsonl").write_text("")
  assert predict(model, files / "a", "--output", "out/") == 2
  assert "out/x.jsonl: changed or gone since it was made; expected" in capsys.readouterr().err
  assert Path("out/mine/x.txt").read_text() == Path("out/README.md").read_text() == "Ana"


@pytest.mark.parametrize(
  ("row", "text"),
  [
    ({"text": "Ana", "tokens": [1, 2]}, "Ana"),
    ({"document": "7.txt", "sentence": "Ana", "words": ["B"]}, "Ana"),
    ({"tokens": ["Ana", "left"], "content": "B"}, "Ana left"),
  ],
)
def test_a_row_has_one_text(row, text):
  task = task_class("ner")()
  assert of_corpus(row, task.parse, frozenset(), "here: line 1").text.strip() == text


def test_spans_of_answers_are_characters(model):
  embedder = corpus.embedder(luke_jax.load(model), "ends")
  value = {"tokens": ["Ana", "left", "Tokyo"], "prediction": [{"start": 9, "end": 14}]}
  assert embedder.parse(value, "1", "here")[1].entity_spans == [(9, 14)]
  assert embedder.parse(value | {"spans": [[2, 3]]}, "1", "here")[1].entity_spans == [(9, 14)]
  for odd in ([3], [{"label": "x"}], [None]):
    with pytest.raises(InputError, match="here: spans: "):
      embedder.parse({"text": "Ana", "spans": odd}, "1", "here")


def test_faults_that_a_task_finds_in_its_rows_are_written_apart():
  def answer(examples, faults, _):
    with faults.caught():
      raise InputError("here: line 1: too long")
    return examples

  opened = corpus.Answerer("found", str, None, lambda value, *_: value["text"], answer)
  work = corpus.AnsweredShard(Path(), (), lambda: opened, skip_bad=True)
  lines = [(f"here: line {n}", f'{{"text": "{n}"}}') for n in (1, 12)]
  assert work._answered(lines, opened, CompiledShapes(0)) == (
    [{"text": "12", "found": "12"}],
    [{"fault": "here: line 1: too long", "row": {"text": "1"}}],
  )


def test_shards_without_rows_and_shards_that_cannot_be_read(model, tmp_path, monkeypatch, capsys):
  monkeypatch.chdir(tmp_path)
  Path("in").mkdir()
  pq.write_table(pa.table({"text": pa.array([], pa.string())}), "in/none.parquet")
  Path("in/none.txt").write_text("\n")
  assert predict(model, "in", "--output", "out/") == 0
  assert "0 texts in 2 shards" in capsys.readouterr().out
  assert pq.read_table("out/none.parquet").schema.names == ["text", "prediction"]
  for name, data in {
    "x.parquet": b"PAR1 and no more",
    "x.jsonl.gz": gzip.compress(b'{"text": "Ana"}\n' * 9)[:-9],
    "x.txt": b"Ana\nB\xe9la",
  }.items():
    Path(name).write_bytes(data)
    assert predict(model, name, "--output", f"of_{name}/") == 2
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert said.startswith(f"luke-jax: {name}: ") and "; expected" in said
    assert not list(Path(f"of_{name}").glob("x*"))


def test_lines_and_ends_that_cannot_be_read_are_written_apart(model, tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)
  Path("in").mkdir()
  Path("in/cut.jsonl.gz").write_bytes(gzip.compress(b'{"text": "Ana"}\n' * 2000)[:-9])
  Path("in/odd.txt").write_bytes(b"Ana\nB\xe9la\nTokyo")
  Path("in/no.parquet").write_bytes(b"PAR1 and no more")
  assert predict(model, "in", "--output", "out/", "--skip-bad") == 0
  assert [row["text"] for row in read(Path("out/odd.jsonl"))] == ["Ana", "Tokyo"]
  (fault,) = read(Path("out/odd.jsonl.faulty.jsonl"))
  assert fault["row"] is None and "in/odd.txt: line 2: byte 0xe9 is not UTF-8" in fault["fault"]
  assert pq.read_table("out/no.parquet").schema.names == ["prediction"]
  (fault,) = read(Path("out/no.parquet.faulty.jsonl"))
  assert fault["fault"].startswith("in/no.parquet: ") and "; expected a table" in fault["fault"]
  assert 500 < len(read(Path("out/cut.jsonl.gz"))) <= 2000
  (fault,) = read(Path("out/cut.jsonl.gz.faulty.jsonl"))
  assert fault["fault"].startswith("in/cut.jsonl.gz: ") and "; expected lines" in fault["fault"]


def test_a_large_file_has_several_shards(model, files, monkeypatch, capsys):
  Path("in").mkdir()
  lines = [json.dumps({"text": text, "n": n}) for n, text in enumerate(TEXTS * 3)]
  Path("in/lines.jsonl").write_text("\n".join(lines))
  rows = list(map(json.loads, lines))
  pq.write_table(pa.Table.from_pylist(rows), "in/table.parquet", row_group_size=3)
  assert predict(model, "in", "--output", "whole/") == 0
  monkeypatch.setattr(forms, "SHARD", 130)
  assert predict(model, "in", "--output", "out/") == 0
  for form, shards in ("lines", Path("in/lines.jsonl").stat().st_size // 130), ("table", 4):
    paths = sorted(Path("out").glob(f"{form}-0000?-of-0000{shards}.*"))
    assert [x for path in paths for x in read(path)] == read(next(Path("whole").glob(f"{form}.*")))
  Path("in/lines.jsonl").write_text("\n".join([*lines, "{"]))
  assert predict(model, "in/lines.jsonl", "--output", "bad/") == 2
  assert "in/lines.jsonl: line 7 after byte 271: " in capsys.readouterr().err


@given(st.lists(st.binary(max_size=12), max_size=12), st.integers(1, 9), st.booleans())
def test_the_shards_of_a_file_have_its_lines(lines, size, text):
  with tempfile.TemporaryDirectory() as folder, mock.patch.object(forms, "SHARD", size):
    path = Path(folder, "x.txt" if text else "x.jsonl")
    path.write_bytes(b"\n".join([b"of UTF-8", *lines]))
    whole, *parts = (
      [row if isinstance(row, str | dict) else "fault" for _, row in forms.rows_and_faults(shard)]
      for shard in (forms.Shard(path), *forms.shards_in(path).values())
    )
  assert list(itertools.chain.from_iterable(parts)) == whole


def test_spans_that_are_too_long_are_written_apart(model, tmp_path, monkeypatch, capsys):
  monkeypatch.chdir(tmp_path)
  text = "Ana " * 600
  rows = [{"text": "Ana", "spans": [[0, 3]]}, {"text": text, "spans": [[0, len(text) - 1]]}]
  Path("in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
  command = ["embed", str(model), "in.jsonl", "--output", "out/", "--pool", "ends"]
  assert main(command) == 2
  assert "in.jsonl: line 2: span (0, 2399): more than" in capsys.readouterr().err
  assert main([*command, "--skip-bad"]) == 0
  assert [row["text"] for row in read(Path("out/in.jsonl"))] == ["Ana"]
  (fault,) = read(Path("out/in.jsonl.faulty.jsonl"))
  assert fault["fault"].startswith("in.jsonl: line 2: span (0, 2399): more than")


def test_an_output_inside_its_input_is_no_input(model, files, capsys):
  Path("link").symlink_to(files, target_is_directory=True)
  for source in (files, "link", "corpus/../corpus"):
    assert predict(model, source, "--output", "link/answers/") == 0
  assert capsys.readouterr().out.count("made before") == 2
  (files / "answers" / "begun.json").write_text('""')
  assert predict(model, files / "answers", "--output", "out/") == 2
  assert "corpus/answers: not finished; expected" in capsys.readouterr().err
  (files / "answers" / "begun.json").unlink()
  assert len(contents(files / "answers")) == 6


@pytest.mark.parametrize(
  ("sources", "output", "fault"),
  [
    (["corpus"], "", "--output: missing; expected a folder"),
    (["corpus"], "answers.jsonl", "--output: answers.jsonl: a file; expected a folder"),
    (["empty"], "out/", "empty: no shards; expected files of Parquet"),
    (["corpus/README.md"], "out/", "corpus/README.md: no shards"),
    (
      ["Ana", "lives"],
      "out/",
      "Ana: no such file; expected shards of a corpus, or a text in quotes",
    ),
    (["corpus"], "corpus", "corpus: no shards"),
    (["corpus/a"], "full/", "full: not a folder of this command"),
    (["twice"], "out/", "twice/x.jsonl would be one; expected another name"),
    (["corpus/notes", "corpus/a"], "out/", "what the command notes would be one"),
  ],
)
def test_what_is_no_corpus_is_refused_in_a_line(model, files, capsys, sources, output, fault):
  for name in ("full/mine", "twice/x.jsonl", "twice/x.txt", "corpus/notes/x.txt"):
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text("Ana")
  Path("empty").mkdir()
  assert predict(model, *sources, *(["--output", output] if output else [])) == 2
  assert fault in capsys.readouterr().err


def test_packed_by_zstandard(tmp_path):
  if not find_spec("compression"):
    pytest.importorskip("backports.zstd")
  path = tmp_path / "x.jsonl.zst"
  with forms.written(path) as write:
    write([{"text": "Ana"}])
  assert [row for _, row in forms.rows(path)] == ['{"text":"Ana"}\n'.strip()]


def test_the_answers_of_every_task_have_a_type_in_tables():
  for name in CLASSES:
    kind = corpus._kind(task_class(name))
    assert pa.types.is_list(forms.arrow_type(kind))


def test_a_corpus_is_padded_by_a_tenth():
  rng = np.random.default_rng(0)
  lengths = np.clip(rng.lognormal(3.3, 0.45, 3 * corpus.ROWS).astype(int), 4, 128)  # of sentences
  config = BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12)
  shapes, padded = batches.compiled_shapes(config, 4), 0
  for first in range(0, len(lengths), corpus.ROWS):
    some = lengths[first : first + corpus.ROWS]
    rows = [_row(length) for length in some]
    for batch in batches.batches(rows, Sizes(512, 1, 1), 512, shapes, entity_tokens=False):
      padded += batch.height * batch.size.words
  assert lengths.sum() > 0.9 * padded


def _row(length):
  return Row(0, np.zeros(length, np.int32), np.zeros(0, np.int32), np.zeros((0, 2)))


def test_devices_share_batches(model, monkeypatch):
  read = luke_jax.load(model)
  shared = on_all_devices(read)
  assert shared.program is not None
  found, expected = shared.predict(TEXTS[:3]), read.predict(TEXTS[:3])
  assert [[x[:4] for x in row] for row in found] == [[x[:4] for x in row] for row in expected]
  for row, like in zip(found, expected, strict=True):
    np.testing.assert_allclose([x.score for x in row], [x.score for x in like], atol=1e-5)


@pytest.mark.slow
def test_workers_give_the_same_bytes_and_a_killed_run_goes_on(model, files):
  command = [sys.executable, "-m", "luke_jax", "predict", "ner", model, str(files)]
  assert predict(model, files, "--output", "one/") == 0
  subprocess.run([*command, "--output", "two/", "--workers", "2"], check=True)
  assert contents(Path("two")) == contents(Path("one"))
  (files / "a/x.jsonl").write_text('{"text": "Ana lives in Tokyo."}\n' * 5_000)
  with subprocess.Popen([*command, "--output", "killed/"]) as process:
    while not list(Path("killed").glob("notes/0.partly")):
      assert process.poll() is None
      time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
  assert not Path("killed/a/x.jsonl").exists()
  assert predict(model, files, "--output", "killed/") == 0
  assert predict(model, files, "--output", "whole/") == 0
  assert contents(Path("killed")) == contents(Path("whole"))


@pytest.mark.slow
def test_a_corpus_in_a_bucket(model, files, bucket, cloud_storage, monkeypatch):
  monkeypatch.setattr(forms, "SHARD", 40)  # so that each file has several
  assert predict(model, files, "--output", "here/") == 0
  for path in files.rglob("*"):
    if path.is_file():
      (bucket / "corpus" / path.relative_to(files).as_posix()).write_bytes(path.read_bytes())
  assert predict(model, bucket / "corpus", "--output", f"{bucket}/answers/") == 0
  there = cloud_storage.files(f"{bucket}/answers")
  assert {k: v for k, v in there.items() if k != "manifest.json"} == contents(Path("here"))


@pytest.mark.slow
def test_the_same_answers_from_beam(model, files):
  pytest.importorskip("apache_beam", reason="needs the extra `beam`")
  for engine in ("local", "beam"):
    assert predict(model, files, "--output", f"{engine}/", "--engine", engine) == 0
  assert contents(Path("beam")) == contents(Path("local"))
