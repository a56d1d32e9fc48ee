"""ONNX files whose weights are in 8 bits."""

import logging
from collections.abc import Mapping

import onnx
from onnx import helper
from onnxruntime.quantization import QuantType, quantize_dynamic

from luke_jax.convert.onnx.files import LARGEST
from luke_jax.files import Path


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
