"""Files of Paddle: archives of arrays by name, and folders with a file for each array.

A file of the latter kind is, in little-endian numbers: a version (0), a count of levels (0), a
version (0), the length of a description, that description as a protocol buffer with the type (field
1) and the sizes (field 2) of the array, and its numbers.
"""

import functools
import pickle
import struct
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from luke_jax.convert.pickled_arrays import read_pickled_arrays
from luke_jax.errors import InputError
from luke_jax.files import Path, check_regular

ARCHIVE_END = ".pdparams"
STATIC_FOLDER = "params"
ARCHIVES = {"paddle-dygraph": "saved_weights.pdparams", "paddlenlp": "model_state.pdparams"}
_HEAD = struct.Struct("<IQIi")  # version, levels, version, length of the description
_TYPES = {4: "<f2", 5: "<f4", 6: "<f8"}  # numbers of their enumeration
_CODES = {np.dtype(name): code for code, name in _TYPES.items()}
_PROTOCOL = 2  # of the archives that Paddle 1 reads, too

Reader = Callable[[], np.ndarray]


def paddle_weights(directory: Path) -> Path | None:
  """Returns the only archive of a directory, or its folder of arrays; None if it has none."""
  archives = sorted(x for x in directory.iterdir() if x.name.endswith(ARCHIVE_END))
  if len(archives) > 1:
    names = ", ".join(path.name for path in archives)
    raise InputError(f"{directory}: {names}; expected one archive of weights")
  folder = directory / STATIC_FOLDER
  return archives[0] if archives else folder if folder.is_dir() else None


def open_paddle(path: Path) -> dict[str, Reader]:
  """Returns what reads each array of an archive, or of a folder of arrays."""
  for file in sorted(path.iterdir()) if path.is_dir() else (path,):
    check_regular(file)
  if path.is_dir():
    return {file.name: functools.partial(_read_static, file) for file in sorted(path.iterdir())}
  arrays = read_pickled_arrays(path)
  return {name: functools.partial(arrays.__getitem__, name) for name in arrays}


def write_paddle(directory: Path, form: str, tensors: Iterable[tuple[str, np.ndarray]]) -> None:
  """Writes arrays in one of Paddle's forms."""
  arrays = dict(tensors)
  types = {tensor.dtype for tensor in arrays.values()}
  if not types <= _CODES.keys():
    raise InputError(f"dtype: {next(iter(types))}; expected float32 or float16 for {form}")
  if form in ARCHIVES:
    with (directory / ARCHIVES[form]).open("wb") as file:
      pickle.dump(arrays, file, _PROTOCOL)
    return
  (directory / STATIC_FOLDER).mkdir()
  for name, tensor in arrays.items():
    description = bytes([8, _CODES[tensor.dtype]])
    description += b"".join(b"\x10" + _varint(size) for size in tensor.shape)
    head = _HEAD.pack(0, 0, 0, len(description))
    (directory / STATIC_FOLDER / name).write_bytes(head + description + tensor.tobytes())


def _read_static(path: Path) -> np.ndarray:
  data = path.read_bytes()
  expected = f"{path}: not an array of Paddle's; expected what fluid.io.save_params writes"
  if len(data) < _HEAD.size:
    raise InputError(expected)
  version, levels, other, length = _HEAD.unpack_from(data)
  end = _HEAD.size + length
  if (version, levels, other) != (0, 0, 0) or not 0 < length <= len(data) - _HEAD.size:
    raise InputError(expected)
  fields = list(_fields(data[_HEAD.size : end]))
  types = [value for field, value in fields if field == 1]
  shape = [value for field, value in fields if field == 2]
  if len(types) != 1 or types[0] not in _TYPES:
    raise InputError(f"{path}: numbers of type {types}; expected floating point")
  dtype = np.dtype(_TYPES[types[0]])
  if len(data) - end != dtype.itemsize * int(np.prod(shape, dtype=object)):
    raise InputError(f"{path}: {len(data) - end} bytes; expected the numbers of shape {shape}")
  return np.frombuffer(data, dtype, offset=end).reshape(shape)


def _fields(data: bytes) -> Iterator[tuple[int, int]]:
  """Yields the number and the value of each field of a protocol buffer of whole numbers."""
  rest = iter(data)
  for tag in rest:
    value, shift = 0, 0
    for byte in rest:
      value |= (byte & 127) << shift
      shift += 7
      if byte < 128:
        break
    yield tag >> 3, value


def _varint(value: int) -> bytes:
  """Returns a whole number in groups of seven bits, the lowest first."""
  groups = bytearray()
  while value > 127:
    groups.append(value & 127 | 128)
    value >>= 7
  return bytes([*groups, value])
