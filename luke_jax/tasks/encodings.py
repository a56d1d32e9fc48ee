"""Files that hold no text in UTF-8: what they are by their first bytes, and the way to a text."""

import re

from luke_jax.errors import InputError

HEAD = 8  # bytes that tell them apart
_SPREADSHEET = (
  "a spreadsheet; expected a text file in UTF-8, such as Excel saves as CSV UTF-8",
  "a zip archive, as Excel's spreadsheets are; expected a text file in UTF-8, such as Excel saves"
  " as CSV UTF-8",
)
_KINDS = {
  b"\xd0\xcf\x11\xe0": _SPREADSHEET[0],
  b"PK\x03\x04": _SPREADSHEET[1],
  b"\x1f\x8b": "compressed; expected a text file, which `gunzip {path}` makes",
  b"PAR1": "a table of Parquet; expected lines of JSON, such as pandas writes by"
  " to_json(…, orient='records', lines=True)",
}


def check_head(head: bytes, path: object) -> None:
  """Raises InputError for the first bytes of a spreadsheet, an archive, or a text in UTF-16."""
  for start, fault in _KINDS.items():
    if head.startswith(start):
      raise InputError(f"{path}: {fault.format(path=path)}")
  if encoding := _utf_16(head):
    raise InputError(f"{path}: in UTF-16; expected UTF-8, {_converted(path, encoding)}")


def not_utf_8(fault: UnicodeDecodeError, name: str, number: int) -> InputError:
  """Returns the error for a text of which so many lines were read before the fault."""
  line = number + 1 + len(re.findall(rb"\r\n|\r|\n", fault.object[: fault.start]))
  return InputError(
    f"{name}: line {line}: byte 0x{fault.object[fault.start]:02x} is not UTF-8; expected UTF-8,"
    f" {_converted(name, 'WINDOWS-1252')} if it is in Latin-1 or Windows-1252"
  )


def _utf_16(head: bytes) -> str:
  """Returns the encoding of a text in UTF-16, with a mark or by its zeros; empty for any other."""
  if head.startswith((b"\xff\xfe", b"\xfe\xff")):
    return "UTF-16"
  zeros = [byte == 0 for byte in head[:4]]
  if zeros == [False, True] * 2:
    return "UTF-16LE"
  return "UTF-16BE" if zeros == [True, False] * 2 else ""


def _converted(name: object, encoding: str) -> str:
  return f"which `iconv -f {encoding} -t UTF-8 {name}` prints"
