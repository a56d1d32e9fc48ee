"""Files of Paddle: their names and forms, and the arrays in its pickles.

Python's unpickler calls whatever a file names. The machine here knows the instructions that write
dictionaries of NumPy arrays, makes nothing else, and refuses all others.
"""

import dataclasses
import functools
import operator
import pickle
import pickletools
import re
import struct
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from luke_jax.errors import InputError
from luke_jax.files import Path, check_regular
from luke_jax.text.sentence_piece import message_fields, varint

_PUSHED = {"BININT", "BININT1", "BININT2", "LONG1", "BINUNICODE", "SHORT_BINUNICODE"}
_PUSHED |= {"BINUNICODE8", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BINSTRING"}
_PUSHED |= {"SHORT_BINSTRING"}
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
_FEWER = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_IGNORED = {"PROTO", "FRAME", "STOP"}
_OWN = "@@"  # ends the names of Paddle's own entries
_MODULES = ("numpy.core.", "numpy._core.", "numpy ", "_codecs ", "builtins ", "__builtin__ ")
_MODULES += ("collections ",)
ARCHIVE_END = ".pdparams"
STATIC_FOLDER = "params"
ARCHIVES = {"paddle-dygraph": "saved_weights.pdparams", "paddlenlp": "model_state.pdparams"}
_HEAD = struct.Struct("<IQIi")  # version, levels, version, length of the description
_TYPES = {4: "<f2", 5: "<f4", 6: "<f8"}  # numbers of their enumeration
_CODES = {np.dtype(name): code for code, name in _TYPES.items()}
_PROTOCOL = 2  # of the archives that Paddle 1 reads, too
Reader = Callable[[], np.ndarray]


class _RefusedError(Exception):
  """An instruction that does not belong to a dictionary of arrays."""


@dataclasses.dataclass
class _Type:
  """A type of numbers, whose byte order comes after it."""

  code: str
  order: str = "|"

  def build(self, state: tuple[Any, ...]) -> None:
    """Sets the byte order."""
    self.order = str(state[1])

  @property
  def dtype(self) -> np.dtype:
    """Returns the type, which is one of plain numbers."""
    if not re.fullmatch(r"[fiub][1248]", self.code) or self.order not in "<>|=":
      raise _RefusedError(f"numbers of type {self.order}{self.code}")
    return np.dtype(self.order + self.code)


@dataclasses.dataclass
class _Array:
  """An array, whose shape and bytes come after it."""

  array: np.ndarray | None = None

  def build(self, state: tuple[Any, ...]) -> None:
    """Sets the numbers."""
    _, shape, kind, fortran, data = state
    flat = np.frombuffer(_as_bytes(data), kind.dtype)
    self.array = flat.reshape(shape, order="F" if fortran else "C")


def _as_bytes(data: str | bytes) -> bytes:
  return data.encode("latin1") if isinstance(data, str) else data


# What a file may call, by the ends of names that differ between versions of NumPy.
_CALLS: dict[str, Callable[..., Any]] = {
  "multiarray _reconstruct": lambda kind, shape, code: _Array(),
  "numpy dtype": lambda code, *flags: _Type(code),
  "_codecs encode": lambda text, encoding: _as_bytes(text),
  "builtins tuple": tuple,
  "__builtin__ tuple": tuple,
  "collections OrderedDict": dict,
}


def read_pickled_arrays(path: Path) -> dict[str, np.ndarray]:
  """Returns the arrays of an archive of Paddle by name."""
  try:
    with path.open("rb") as file:
      value = _run((code.name, argument) for code, argument, _ in pickletools.genops(file))
    if not isinstance(value, dict):
      raise _RefusedError(f"{type(value).__name__}")
    return {name: _array(x) for name, x in value.items() if not name.endswith(_OWN)}
  except (_RefusedError, ValueError, TypeError, LookupError, AttributeError, MemoryError) as fault:
    reason = str(fault).partition("\n")[0] or type(fault).__name__
    raise InputError(
      f"{path}: not arrays by name alone ({reason:.80}); expected what paddle.save writes of a"
      " state dict, or a model.safetensors"
    ) from None


def _array(value: object) -> np.ndarray:
  """Returns an array, or that of a tensor, which is written with its name."""
  if isinstance(value, tuple) and len(value) == 2:
    value = value[1]
  if not isinstance(value, _Array) or value.array is None:
    raise _RefusedError(f"{type(value).__name__} in the place of an array")
  return value.array


def _run(instructions: Iterable[tuple[str, object]]) -> object:
  """Returns the value that the instructions make."""
  stack, memo, marks = [], {}, []
  for name, argument in instructions:
    if name in _PUSHED:
      stack.append(argument)
    elif name in _CONSTANTS:
      stack.append(_CONSTANTS[name])
    elif name == "EMPTY_DICT":
      stack.append({})
    elif name == "MARK":
      marks.append(len(stack))
    elif name in ("BINPUT", "LONG_BINPUT"):
      memo[argument] = stack[-1]
    elif name == "MEMOIZE":
      memo[len(memo)] = stack[-1]
    elif name in ("BINGET", "LONG_BINGET"):
      stack.append(memo[argument])
    elif name in ("TUPLE", *_FEWER):
      stack.append(
        tuple(_popped(stack, len(stack) - _FEWER[name] if name in _FEWER else marks.pop()))
      )
    elif name == "SETITEMS":
      items = _popped(stack, marks.pop())
      stack[-1].update(zip(items[::2], items[1::2], strict=True))
    elif name not in _IGNORED:
      _made(name, argument, stack)
  (value,) = stack
  return value


def _made(name: str, argument: Any, stack: list[Any]) -> None:
  if name == "GLOBAL":
    stack.append(_Global(argument))
  elif name == "STACK_GLOBAL":
    stack.append(_Global(" ".join(_popped(stack, -2))))
  elif name == "REDUCE":
    function, arguments = _popped(stack, -2)
    stack.append(function.call(arguments))
  elif name == "BUILD":
    state = stack.pop()
    stack[-1].build(state)
  elif name == "SETITEM":
    key, value = _popped(stack, -2)
    stack[-1].update({key: value})
  else:
    raise _RefusedError(f"instruction {name}")


def _popped(stack: list[object], start: int) -> list[Any]:
  values = stack[start:]
  del stack[start:]
  return values


@dataclasses.dataclass(frozen=True)
class _Global:
  """Something that a file names; only what is listed can be called."""

  name: str

  def call(self, arguments: tuple[object, ...]) -> Any:
    """Returns the result of a call."""
    for end, function in _CALLS.items():
      if self.name.endswith(end) and self.name.startswith(_MODULES):
        return function(*arguments)
    raise _RefusedError(f"a call of {self.name.replace(' ', '.')}")


def paddle_weights(directory: Path) -> Path | None:
  """Returns the only archive of a directory, or its folder of arrays; None if it has none."""
  archives = sorted(x for x in directory.iterdir() if x.name.endswith(ARCHIVE_END))
  if len(archives) > 1:
    names = ", ".join(path.name for path in archives)
    raise InputError(f"{directory}: {names}; expected one archive of weights")
  folder = directory / STATIC_FOLDER
  return archives[0] if archives else folder if folder.is_dir() else None


def open_paddle(path: Path) -> dict[str, Reader]:
  """Returns a reader for each array of an archive, or of a folder of arrays."""
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
    description += b"".join(b"\x10" + varint(size) for size in tensor.shape)
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
  try:
    message = message_fields(data[_HEAD.size : end])
    fields = [(number, operator.index(value)) for number, value in message]  # whole numbers alone
  except (IndexError, TypeError, ValueError):
    raise InputError(expected) from None
  types = [value for field, value in fields if field == 1]
  shape = [value for field, value in fields if field == 2]
  if len(types) != 1 or types[0] not in _TYPES:
    raise InputError(f"{path}: numbers of type {types}; expected floating point")
  dtype = np.dtype(_TYPES[types[0]])
  if len(data) - end != dtype.itemsize * int(np.prod(shape, dtype=object)):
    raise InputError(f"{path}: {len(data) - end} bytes; expected the numbers of shape {shape}")
  return np.frombuffer(data, dtype, offset=end).reshape(shape)
