"""The texts of templates, from `templates.toml`, which says what each shows of its parameters."""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from luke_jax.files import packaged
from luke_jax.wiki.read.dump import Site, folded
from luke_jax.wiki.read.markup_removal import GAP

_TEMPLATE = 10
_LONGEST_NAME = 80  # characters, with the template's namespace
_FUNCTION = "formatnum"  # whose first parameter is after a colon
_DIVIDER = re.compile(r"\[\[|\]\]|[|=]")
_SLOT = re.compile(r"\{([^{}]+)\}")
_SEVERAL = re.compile(r"([0-9]+)\+(.*)")
_NO_TARGET = re.compile(r"[\[\]|{}<>]")
_NUMBER = re.compile(r"[-−+]?[0-9][0-9.,/]*")
# Between the numbers of a range, as `convert` shows them.
_RANGES = {"to": " to ", "to(-)": " to ", "-": "–", "–": "–", "and": " and ", "or": " or "}
_RANGES |= {"x": " by ", "×": " × ", "by": " by ", "+/-": " ± ", "±": " ± "}
_UNITS = {"km2": "km²", "m2": "m²", "sqkm": "km²", "sqm": "m²", "cm2": "cm²", "km3": "km³"}
_UNITS |= {"m3": "m³", "cm3": "cm³", "C": "°C", "F": "°F", "sqmi": "sq mi", "sqft": "sq ft"}
_UNITS |= {"cuft": "cu ft", "cuyd": "cu yd", "acre": "acres"}
# Words among the sounds of a pronunciation that say whose it is.
_NO_SOUNDS = frozenset(("lang", "pron", "us", "uk", "also", "local", "icon"))

Parameters = Mapping[str, str]  # what is given of parameters, by name or number
_Slot = Callable[[Parameters], str | None]
Rows = dict[str, list[str]]

_TABLES = tomllib.loads(packaged("wiki/read/templates.toml"))
EVERYWHERE: Rows = _TABLES["everywhere"]
IN_ONE: dict[str, Rows] = _TABLES["of"]
_CODES = _TABLES["languages"].pop("codes").split()
# Names of languages by code, in each language.
LANGUAGE_NAMES: dict[str, dict[str, str]] = {
  language: dict(zip(_CODES, (x.replace("_", " ") for x in names.split()), strict=True))
  for language, names in _TABLES["languages"].items()
}
MONTHS: dict[str, dict[str, str]] = {
  language: {str(number): name for number, name in enumerate(names.split(), start=1)}
  for language, names in _TABLES["months"].items()
}


class _Form(NamedTuple):
  """A text with slots in it for parameters."""

  parts: tuple[str | _Slot, ...]
  is_link: bool

  def filled(self, parameters: Parameters) -> str | None:
    """Returns the text, None if a parameter is not given or would not do in a link."""
    texts = []
    for part in self.parts:
      if isinstance(part, str):
        texts.append(part)
        continue
      text = part(parameters)
      if text is None or (self.is_link and _NO_TARGET.search(text)):
        return None
      texts.append(text)
    return "".join(texts)


class Templates:
  """The templates of a wiki that show text."""

  def __init__(self, site: Site):
    self._prefixes = {name for name, number in site.namespaces.items() if number == _TEMPLATE}
    self._forms: dict[str, list[_Form]] = {}
    for rows in (EVERYWHERE, IN_ONE.get(site.language, {})):
      for names, forms in rows.items():
        for name in names.split(","):
          self._add(folded(name), forms, site.language)

  def text(self, parts: Sequence[str]) -> str:
    """Returns the text of a template, empty if it shows none; `parts` are what its braces enclose.

    The first part has to go as far as the template's name.
    """
    bar = parts[0].find("|", 0, _LONGEST_NAME)
    name, first = self._name(parts[0][: _LONGEST_NAME if bar < 0 else bar])
    forms = self._forms.get(name)
    if forms is None:
      return ""
    rest = "".join(parts)
    parameters = _parameters(
      rest[rest.index(":") + 1 :] if first else rest[bar + 1 :] if bar >= 0 else ""
    )
    texts = (form.filled(parameters) for form in forms) if parameters is not None else ()
    return next((text for text in texts if text is not None), "")

  def _name(self, text: str) -> tuple[str, bool]:
    """Returns a template's name, and whether its first parameter is after a colon."""
    prefix, colon, rest = text.partition(":")
    if not colon:
      return folded(text), False
    prefix = folded(prefix)
    return (folded(rest), False) if prefix in self._prefixes else (prefix, prefix == _FUNCTION)

  def _add(self, name: str, forms: Sequence[str], language: str) -> None:
    """Adds a template, or one for each code of a language that its name is without."""
    names = LANGUAGE_NAMES.get(language, {})
    if "*" not in name:
      self._forms[name] = [_form(form, language) for form in forms]
      return
    for code, called in names.items():
      of_code = [_form(form.replace("{language}", called), language) for form in forms]
      self._forms.setdefault(name.replace("*", code), of_code)


def _form(text: str, language: str) -> _Form:
  texts = _SLOT.split(text)
  parts = [_slot(part, language) if i % 2 else part for i, part in enumerate(texts)]
  return _Form(tuple(part for part in parts if part != ""), "[[" in text)


def _slot(text: str, language: str) -> _Slot:
  """Returns the function that finds what stands in a slot, None if it is not given."""
  if text == "measure":
    return _measure
  if text == "sounds":
    return _sounds
  if text.startswith("!"):
    return lambda parameters: "" if text[1:] in parameters else None
  name, equal, value = text.partition("=")
  if equal:
    return lambda parameters: "" if parameters.get(name) == value else None
  if several := _SEVERAL.fullmatch(text):
    return lambda parameters: several[2].join(_several(parameters, int(several[1]))) or None
  name, colon, kind = text.partition(":")
  if colon:
    called = (MONTHS if kind == "month" else LANGUAGE_NAMES).get(language, {})
    return lambda parameters: called.get(parameters.get(name, "").lstrip("0"))
  names = text.split("/")
  return lambda parameters: next((parameters[name] for name in names if name in parameters), None)


def _several(parameters: Parameters, first: int) -> list[str]:
  """Returns positional parameters, from one on to before the first that is not given."""
  texts = []
  while (text := parameters.get(str(first + len(texts)))) is not None:
    texts.append(text)
  return texts


def _sounds(parameters: Parameters) -> str | None:
  """Returns a pronunciation that is given sound by sound."""
  sounds = [sound for sound in _several(parameters, 1) if sound not in _NO_SOUNDS]
  return "".join(sounds).replace("_", " ") or None


def _measure(parameters: Parameters) -> str | None:
  """Returns a quantity, or a range of it, with its unit as it is given: 5–10 km, 6 ft 2 in."""
  texts = _several(parameters, 1)
  numbers, at = texts[:1], 1
  while at + 1 < len(texts) and texts[at] in _RANGES:
    numbers += (_RANGES[texts[at]], texts[at + 1])
    at += 2
  unit, more = texts[at : at + 1], texts[at + 1 : at + 3]
  if not unit:
    return None
  quantity = f"{''.join(numbers)} {_UNITS.get(unit[0], unit[0])}"
  if len(more) == 2 and _NUMBER.fullmatch(more[0]) and not _NUMBER.fullmatch(more[1]):
    return " ".join([quantity, *more])
  return quantity


def _parameters(text: str) -> Parameters | None:
  """Returns the parameters that are not empty, None where links in them are not closed."""
  parameters: dict[str, str] = {}
  start, equal, depth, position = 0, -1, 0, 0
  for match in (*_DIVIDER.finditer(text), None):
    sign = match[0] if match else "|"
    if sign in ("[[", "]]"):
      depth += 1 if sign == "[[" else -1
      if depth < 0:
        return None
    elif depth == 0 and sign == "=" and equal < 0:
      equal = match.start() if match else -1
    elif depth == 0 and sign == "|":
      stop = match.start() if match else len(text)
      position += equal < 0
      name = str(position) if equal < 0 else text[start:equal].strip()
      value = text[max(start, equal + 1) : stop].replace("\n", " ").strip(f" \t{GAP}")
      if value:
        parameters[name] = value
      start, equal = stop + 1, -1
  return parameters if depth == 0 else None
