import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from luke_jax.errors import InputError
from luke_jax.show import curves
from luke_jax.show.lines import MOST_POINTS, read_run, ticks


def write(folder, lines):
  folder.mkdir(parents=True, exist_ok=True)
  (folder / "metrics.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
  return folder


@pytest.fixture
def run(tmp_path):
  lines = [{"step": step, "loss": 3 / step, "word_loss": 1.0, "tokens": 9} for step in (1, 2, 3, 4)]
  lines[2]["loss"] = "nan"
  lines += [{"step": 4, "dev/word_loss": 1.5, "dev/f1": 0.5}]
  return write(tmp_path / "first <run>", lines)


def test_a_panel_for_the_loss_and_each_evaluated_metric(run, read, drawings):
  picture = curves(run)
  told = read(picture.page)
  assert "word loss" in told.text and "f1" in told.text and "tokens" not in told.text
  loss, both, score = drawings(picture.html)
  assert [len(list(x.iter("circle"))) for x in (loss, both, score)] == [0, 1, 1]
  assert "dots: evaluation" in told.text
  assert "dots" not in read(curves(run, metrics=["loss"]).html).text
  (path,) = (x for x in loss.iter("path") if x.get("class") == "curve")
  assert path.get("d").count("L") == 2  # three points, for NaN is none


def test_several_runs_have_names_and_colours(run, tmp_path, read):
  other = write(tmp_path / "other", [{"step": 1, "loss": 2.0}])
  told = read(curves([run, other], metrics=["loss"]).html)
  assert "first <run>" in told.text and "other" in told.text
  assert len(told.named("svg")) == 1
  named = curves({"with": run, "without": other}, metrics=["dev/f1", "f1"])
  assert "without" in read(named.html).text
  hues = {tag["style"] for tag in read(named.html).named("span")}
  assert len(hues) == 2


def test_runs_of_one_name_are_told_apart(run, tmp_path, read):
  again = write(tmp_path / "again" / run.name, [{"step": 1, "loss": 2.0}])
  assert str(again) in read(curves([run, again]).html).text


def test_a_torn_last_line_is_left_out_and_others_are_refused(run):
  path = run / "metrics.jsonl"
  whole = path.read_text()
  path.write_text(whole + '{"step": 5, "lo')
  assert read_run(run)["loss"] == [(1.0, 3.0), (2.0, 1.5), (4.0, 0.75)]
  path.write_text("[]\n" + whole)
  with pytest.raises(InputError, match="line 1 has no step"):
    read_run(run)


def test_long_runs_are_thinned(tmp_path, drawings):
  long = write(tmp_path / "long", [{"step": s, "loss": 1.0} for s in range(1, 1002)])
  (drawing,) = drawings(curves(long).html)
  (path,) = (x for x in drawing.iter("path"))
  assert MOST_POINTS / 2 < path.get("d").count("L") < MOST_POINTS


def test_empty_runs_and_none_are_pictures(tmp_path, read):
  read(curves(write(tmp_path / "empty", [])).html)
  read(curves([]).html)
  read(curves(write(tmp_path / "constant", [{"step": 0, "loss": 0.0}])).html)


def test_what_is_no_run_is_refused(run, tmp_path):
  with pytest.raises(InputError, match=r"no metrics.jsonl; expected the folder of a run"):
    curves(tmp_path)
  with pytest.raises(InputError, match="metric 'los': in no run; expected some of f1, loss"):
    curves(run, metrics=["los"])


NUMBERS = st.floats(-1e6, 1e6).map(lambda x: 0.0 if abs(x) < 1e-6 else x)


@given(NUMBERS, NUMBERS)
def test_ticks_are_round_and_hold_all_values(one, other):
  low, high = sorted((one, other))
  if 0 < high - low < 1e-6 * max(abs(low), abs(high)):
    return
  found = ticks(low, high)
  slack = 1e-6 * (found[-1] - found[0])
  assert found[0] <= low + slack and high - slack <= found[-1] and 2 <= len(found) <= 7
  step = found[1] - found[0]
  assert (
    min(abs(step / 10 ** math.floor(math.log10(step) + 1e-6) - x) for x in (1, 2, 2.5, 5)) < 1e-3
  )


def test_ticks_by_hand():
  assert ticks(0.0, 2000.0) == [0.0, 500.0, 1000.0, 1500.0, 2000.0]
  assert ticks(0.0, 0.0) == pytest.approx([0, 0.25, 0.5, 0.75, 1])
