"""ONNX files in 8 bits, beside those in 32, if a score on examples stays."""

import dataclasses
import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import onnx
from onnx import helper
from onnxruntime.quantization import QuantType, quantize_dynamic

from luke_jax.convert.onnx import FILE, INT8
from luke_jax.convert.onnx.files import LARGEST, OnnxProgram, moved_into
from luke_jax.convert.parts import ModelParts
from luke_jax.files import Path
from luke_jax.inference.predicting import predictions
from luke_jax.tasks.contract import TextTask


class ScoresInBits(NamedTuple):
  """A score of one model in 32 and in 8 bits; the higher the better, up to 1."""

  score: str
  float32: float
  int8: float
  examples: int

  @property
  def lost(self) -> float:
    """Returns how many of a hundred points are lost."""
    return 100 * (self.float32 - self.int8)

  def within(self, most_lost: float) -> bool:
    """Returns whether at most so many points are lost; a score that is no number is not within."""
    return self.lost <= most_lost


def write_int8(
  model: ModelParts, task: TextTask, examples: Sequence[Any], directory: Path, most_lost: float
) -> ScoresInBits:
  """Writes the ONNX file of a directory in 8 bits too, unless more points are lost than that.

  The scores are written into it. If they are too far apart, an earlier one is removed.
  """
  before = _score(model, task, examples, directory / FILE)
  with moved_into(directory) as folder:
    file = folder / INT8
    quantize(directory / FILE, file)
    name, after = _score(model, task, examples, file)
    compared = ScoresInBits(name, before[1], after, len(examples))
    add_properties(file, {"scores": json.dumps(compared._asdict())})
    if not compared.within(most_lost):
      for part in (*folder.iterdir(), *directory.glob(f"{INT8}*")):
        part.unlink()
  return compared


def _score(
  model: ModelParts, task: TextTask, examples: Sequence[Any], file: Path
) -> tuple[str, float]:
  """Returns the score of what onnxruntime computes by which the task selects checkpoints."""
  model = dataclasses.replace(model, program=OnnxProgram(file))
  predicted = [prediction for _, prediction in predictions(model, task, examples)]
  scores = task.evaluate(examples, predicted).scores
  name = task.metric if task.metric in scores else next(iter(scores))
  return name, scores[name]


def quantize(source: Path, target: Path) -> None:
  """Writes an ONNX file again with its products and tables in 8 bits.

  States are rounded by their own range as they come, so that no examples are needed; each column
  of a matrix has a scale of its own.
  """
  large = sum(file.stat().st_size for file in source.parent.glob(f"{source.name}*")) > LARGEST
  logger, level = logging.getLogger(), logging.getLogger().level
  logger.setLevel(logging.ERROR)  # it would advise to prepare the model by another library
  try:
    quantize_dynamic(
      str(source),
      str(target),
      weight_type=QuantType.QInt8,
      per_channel=True,
      use_external_data_format=large,
    )
  finally:
    logger.setLevel(level)


def add_properties(file: Path, properties: Mapping[str, str]) -> None:
  """Writes more of what a file says of itself into it."""
  model = onnx.load(str(file), load_external_data=False)
  kept = {entry.key: entry.value for entry in model.metadata_props}
  helper.set_model_props(model, kept | dict(properties))
  onnx.save_model(model, str(file))
