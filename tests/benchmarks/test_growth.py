"""The picture of how cost grows."""

import itertools
import json
import re

import pytest

from benchmarks import growth
from luke_jax.errors import InputError
from luke_jax.files import Path


def test_curves_rise_with_their_points():
  points = {"all": [(1, 2.0), (10, 20.0), (100, 200.0)], "windows": [(1, 2.0), (100, 4.0)]}
  drawn = growth.picture([growth.Curves("words", "words", "ms", points, "2 cores")] * 2)
  lines = re.findall(r'polyline points="([^"]+)"', drawn)
  assert len(lines) == 4 and drawn.count("<circle") == 10
  places = [tuple(map(float, x.split(","))) for x in lines[0].split()]
  assert places[0][0] == growth.LEFT and places[2][1] == growth.TOP  # both ends of the axes
  steps = [(b[0] - a[0], a[1] - b[1]) for a, b in itertools.pairwise(places)]
  assert steps[0] == pytest.approx(steps[1], abs=0.2)  # powers are straight lines


def test_parts_that_are_not_measured_stay(tmp_path, monkeypatch, capsys):
  def measured():
    return {"LUKE": [(1.0, 2.0), (2.0, 3.0)]}

  monkeypatch.setitem(growth.PARTS, "words", (measured, "words", "ms"))
  kept, picture = Path(tmp_path / "growth.json"), Path(tmp_path / "growth.svg")
  old = growth.Curves("texts", "texts", "s", {"LUKE": [(4, 1), (16, 1)]}, "2 cores")
  kept.write_text(json.dumps({"texts": vars(old)}))
  growth.main(("words",), kept=kept, output=picture)
  assert set(json.loads(kept.read_text())) == {"words", "texts"}
  assert "s by texts" in picture.read_text() and "2 parts" in capsys.readouterr().out
  with pytest.raises(InputError, match="wings: no such part; expected some of words, "):
    growth.main(("wings",), kept=kept, output=picture)
