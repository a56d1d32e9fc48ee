"""Curves of cost, measured on this machine, by words, entities, batches, labels and texts.

Each curve is kept in growth.json with its machine, so that some can be measured again alone.
"""

import dataclasses
import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path as LocalPath
from typing import Annotated, Any

import jax
import numpy as np
from rich.table import Table
from tyro.conf import Positional, arg

import luke_jax
from benchmarks.curves import sheet, text
from benchmarks.encoder import BatchSizes, inputs
from benchmarks.label_times import TEXT
from luke_jax.convert.published import ENGLISH
from luke_jax.errors import InputError
from luke_jax.files import Path, cores_and_processor, read_json, write_json, write_text
from luke_jax.models.network import Network, apply, initial_params, prepared
from luke_jax.models.system import Backbone, System
from luke_jax.systems.luke import LukeConfig
from luke_jax.systems.modernbert import ModernBertConfig
from luke_jax.terminal import Console

ROOT = LocalPath(__file__).parents[1]
KEPT, PICTURE = ROOT / "benchmarks/growth.json", ROOT / "docs/growth.svg"
SIZES: dict[str, Any] = {
  "hidden_size": 384,
  "num_hidden_layers": 6,
  "num_attention_heads": 12,
  "intermediate_size": 1536,
  "max_position_embeddings": 10_000,
}
LUKE = LukeConfig(**SIZES, entity_vocab_size=1000, entity_emb_size=128)
MODERN = ModernBertConfig(**SIZES | {"intermediate_size": 1024})
TEXTS = ROOT / "data/english/sample/relations/train.jsonl"
Point = tuple[float, float]
ROUNDS, SHORT = 3, 1.0  # calls, and seconds of them all, at least


@dataclasses.dataclass(frozen=True)
class Curves:
  """A part of the picture: what grows, what it costs, and the points of each curve."""

  name: str
  across: str
  up: str
  points: dict[str, Sequence[Point]]
  machine: str


def seconds(run: Callable[[], object]) -> float:
  """Returns the least seconds of some calls after a first one, of more where they are short."""
  run()
  times: list[float] = []
  while len(times) < ROUNDS or sum(times) < SHORT:
    start = time.perf_counter()
    run()
    times.append(time.perf_counter() - start)
  return min(times)


def forward(config: System) -> Callable[[BatchSizes], float]:
  """Returns a function from a batch's sizes to the seconds of a pass forward."""
  network = Network(Backbone(config))
  ready, params = prepared(network, initial_params(network, jax.random.key(0)))

  @jax.jit
  def states(params: dict, arrays: dict) -> jax.Array:
    return apply(ready, params, arrays)["last_hidden_state"]

  def timed(batch: BatchSizes) -> float:
    arrays = jax.device_put(inputs(config, batch))
    return seconds(lambda: jax.block_until_ready(states(params, arrays)))

  return timed


def words() -> dict[str, Sequence[Point]]:
  """Times a text by its words: all read all, or a window of 128 and every third layer all."""
  widths = [128 * 2**k for k in range(7)]
  systems = {"LUKE, 32 entities": (LUKE, 32), "ModernBERT": (MODERN, 0)}
  return {
    name: [(w, 1e3 * timed(BatchSizes(1, w, e))) for w in widths]
    for name, (config, e) in systems.items()
    for timed in [forward(config)]
  }


def entities() -> dict[str, Sequence[Point]]:
  """Times a text of 512 words by its entities."""
  timed = forward(LUKE)
  return {"LUKE": [(e, 1e3 * timed(BatchSizes(1, 512, e))) for e in (1, 8, 32, 128, 512)]}


def batch() -> dict[str, Sequence[Point]]:
  """Times a text of 64 words and 8 entities by how many are read together."""
  timed = forward(LUKE)
  return {"LUKE": [(n, 1e3 * timed(BatchSizes(n, 64, 8)) / n) for n in (1, 2, 4, 8, 16, 32, 64)]}


def labels() -> dict[str, Sequence[Point]]:
  """Times a sentence by the labels that are looked for, which were read before."""
  model = luke_jax.load("english/labels")
  lines = (ENGLISH.directory / "vocab.txt").read_text(encoding="utf-8").split()
  asked = [word for word in lines if word.isascii() and word.isalpha() and len(word) > 3]
  points = []
  for count in (1, 10, 100, 1000):
    some = asked[:count]
    points.append((count, 1e3 * seconds(lambda some=some: model.predict(TEXT, labels=some))))
  return {"english/labels": points}


def texts() -> dict[str, Sequence[Point]]:
  """Times names in many sentences."""
  model = luke_jax.load("english/ner")
  lines = TEXTS.read_text(encoding="utf-8").splitlines()
  every = [json.loads(line)["text"] for line in lines]
  points = []
  for count in (1, 10, 100, 1000):
    some = every[:count]
    points.append((count, seconds(lambda some=some: model.predict(some))))
  return {"english/ner": points}


# What grows, with what it is and what it costs.
PARTS: dict[str, tuple[Callable[[], dict[str, Sequence[Point]]], str, str]] = {
  "words": (words, "words of a text", "ms"),
  "entities": (entities, "entities beside 512 words", "ms"),
  "batch": (batch, "texts read together, 64 words each", "ms a text"),
  "labels": (labels, "labels looked for in a sentence", "ms"),
  "texts": (texts, "sentences", "s"),
}
WIDTH, HEIGHT, COLUMNS = 300, 210, 3
LEFT, TOP, RIGHT, BOTTOM = 44, 40, 14, 36
COLOURS, TENFOLD = ("#3465a4", "#cc7000"), 10


def picture(parts: list[Curves]) -> str:
  """Returns all curves as SVG, both axes by powers."""
  rows = -(-len(parts) // COLUMNS)
  found = []
  for place, part in enumerate(parts):
    x, y = place % COLUMNS * WIDTH, place // COLUMNS * HEIGHT
    found.append(f'<g transform="translate({x} {y})">{"".join(_part(part))}</g>')
  return sheet(WIDTH * COLUMNS, rows * HEIGHT, found)


def _part(part: Curves) -> Iterator[str]:
  every = np.array([point for points in part.points.values() for point in points])
  low = every.min(axis=0)
  high = np.maximum(every.max(axis=0), TENFOLD * low)  # lest chance looks like growth
  room = np.array([WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM])
  spans = np.log(high / low)

  def place(point: Point) -> tuple[float, float]:
    x, y = np.log(np.array(point) / low) / spans * room
    return LEFT + x, HEIGHT - BOTTOM - y

  yield text(LEFT, 14, f"{part.up} by {part.across}")
  for number, (name, points) in enumerate(part.points.items()):
    colour = COLOURS[number % len(COLOURS)]
    yield text(LEFT + 110 * number, 29, name, colour)
    places = [place(point) for point in points]
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    yield f'<polyline points="{joined}" fill="none" stroke="{colour}"/>'
    for (x, y), point in zip(places, points, strict=True):
      circle = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}">'
      yield f"{circle}<title>{point[0]:,.0f}: {point[1]:.3g}</title></circle>"
  for value, y in ((low[1], HEIGHT - BOTTOM), (high[1], TOP + 4)):
    shown = f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    yield text(LEFT - 6, y, shown, "#666", "end")
  yield text(LEFT, HEIGHT - 20, f"{low[0]:,.0f}", "#666")
  yield text(WIDTH - RIGHT, HEIGHT - 20, f"{high[0]:,.0f}", "#666", "end")
  yield text(LEFT, HEIGHT - 6, part.machine, "#999")


def main(
  parts: Annotated[tuple[str, ...], Positional, arg(metavar="PART")] = (),
  /,
  *,
  kept: Path = Path(KEPT),
  output: Path = Path(PICTURE),
) -> None:
  """Measures how cost grows with words, entities, batches, labels and texts, in some minutes.

  Needs `luke-jax get english`.

      python -m benchmarks growth words labels

  Args:
    parts: Those to measure; without any, all. The others stay as they are.
    kept: File of all points, which is written again.
    output: File for the picture, SVG.
  """
  if unknown := set(parts) - PARTS.keys():
    raise InputError(f"{min(unknown)}: no such part; expected some of {', '.join(PARTS)}")
  found: dict[str, Any] = dict(read_json(kept) or {})
  for name in parts or tuple(PARTS):
    measure, across, up = PARTS[name]
    curves = Curves(name, across, up, measure(), cores_and_processor())
    found[name] = dataclasses.asdict(curves)
    write_json(kept, found)
    _print(Curves(**found[name]))
  write_text(output, picture([Curves(**found[name]) for name in PARTS if name in found]))
  print(f"{output}: {len(found)} parts")


def _print(part: Curves) -> None:
  table = Table(part.across, *(f"{name}, {part.up}" for name in part.points))
  for row in zip(*part.points.values(), strict=True):
    table.add_row(f"{row[0][0]:,.0f}", *(f"{y:.4g}" for _, y in row))
  Console().print(table)
