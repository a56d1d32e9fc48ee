"""The texts of templates, from a table of what each shows of its parameters.

The table has rows for all languages and for one. Each has names of templates, divided by commas,
and forms: the first one whose parameters are all given is the template's text. Upper and lower case
of names are equal. In a form

- `{1}` and `{lt}` are parameters, and `{lt/1}` is the first of several that is given;
- `{!df}` has to be given and `{3=s}` to be that; neither is shown;
- `{1+}` is all positional ones from the first on, and `{1+-}` the same with hyphens between them;
- `{1:language}` is the name of the language with that code, `{1:month}` that of the month;
- `{measure}` is a quantity with its unit, and `{sounds}` a pronunciation sound by sound;
- `{language}` is the language of the code that `*` stands for in the template's name.

Templates that are not here, such as notes and references, show nothing.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

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
Rows = dict[str, tuple[str, ...]]

_PLAIN = (
  "nowrap, nobr, nobreak, nobold, noitalic, small, smaller, big, larger, large, abbr, tooltip, em"
  ", strong, sup, sub, var, mvar, math, mono, code, kbd, samp, smallcaps, sc, unicode"
  ", visible anchor, vanchor, polytonic, nts"
)
EVERYWHERE: Rows = {
  _PLAIN: ("{1}",),
  "lang": ("{2}",),
  "transl, transliteration, translit": ("{3}", "{2}"),
  "IPA": ("{2}", "{1}"),
  "convert, cvt": ("{measure}",),
  "frac, sfrac": ("{1} {2}/{3}", "{1}/{2}", "1/{1}"),
  "ruby": ("{1} ({2})", "{1}"),
  "nbsp, space": (" ",),
  "snd, spnd, sndash, spaced ndash, spaced en dash": (" – ",),
  "ndash, en dash": ("–",),
  "mdash, em dash": ("—",),
  "formatnum": ("{1}",),
}

_ENGLISH: Rows = {
  "langx": ("{1:language}: {2}", "{2}"),
  "lang-*": ("{language}: {1}",),
  "IPA": ("{1:language}: [{2}]", "[{2}]", "{1}"),
  "IPA-*": ("{language}: [{1}]",),
  "IPAc-en": ("/{sounds}/",),
  "respell": ("{1+-}",),
  "circa, c., ca., approx": ("c. {1} – c. {2}", "c. {1}", "c."),
  "floruit, fl.": ("fl. {1}–{2}", "fl. {1}", "fl."),
  "reign, r.": ("r. {1}–{2}", "r. {1}"),
  "ill, interlanguage link": ("[[{1}|{lt}]]", "[[{1}]]", "{lt/1}"),
  "as of": (
    *("{!lc}as of {3} {2:month} {1}", "{!lc}as of {2:month} {1}", "{!lc}as of {1}"),
    *("As of {3} {2:month} {1}", "As of {2:month} {1}", "As of {1}"),
  ),
  "birth date, birth-date, death date, death-date, start date, start-date, end date, dts": (
    *("{!df}{3} {2:month} {1}", "{2:month} {3}, {1}", "{2:month} {1}", "{1}"),
  ),
  "nihongo": ("{1} ({2}, {3}, {4})", "{1} ({2}, {3})", "{1} ({2})", "{1}", "{2}"),
  "zh": ("Chinese: {c/s/t}; pinyin: {p}", "Chinese: {c/s/t}", "pinyin: {p}"),
  "linktext, chem, chem2, not a typo, as written": ("{1+}",),
  "val": ("{1} {u}", "{1}"),
  "sic": ("{hide=y}{1}", "{1} [sic]", "[sic]"),
  "angbr, angbr IPA": ("⟨{1}⟩",),
  "pipe": ("&#124;",),
  "'": ("&#39;",),
  "'s": ("&#39;s",),
  "·, dot, middot": (" · ",),
  "US$, USD": ("US${1}",),
  "£, GBP": ("£{1}",),
  "€, EUR": ("€{1}",),
  "INR": ("₹{1}",),
  "flag, flagcountry, flagu": ("[[{1}]]",),
  "USS": ("{3=6}[[USS {1} ({2})|{1}]]", "[[USS {1} ({2})|USS {1}]]", "[[USS {1}]]"),
  "HMS": ("{3=6}[[HMS {1} ({2})|{1}]]", "[[HMS {1} ({2})|HMS {1}]]", "[[HMS {1}]]"),
  "ship": (
    *("{4=6}[[{1} {2} ({3})|{2}]]", "[[{1} {2} ({3})|{1} {2}]]", "[[{1} {2}]]"),
    *("[[{2} ({3})|{2}]]", "[[{2}]]"),
  ),
}

_GERMAN: Rows = {
  "*S": ("{language} {1} {2}", "{language} {1}"),
  "IPA, Lautschrift": ("[{1}]",),
  "IPA-Text": ("{1}",),
  '"': ("„{1}“",),
  "Höhe": ("{2=DE}{1} m ü. NHN", "{2=AT}{1} m ü. A.", "{2=CH}{1} m ü. M.", "{1} m"),
}

_FRENCH: Rows = {
  "lang, langue": ("{texte/2}",),
  "lang-*": ("en {language} : {1}",),
  "API": ("{1}",),
  "abréviation, abréviation discrète, lnobr, exp, ind, petit, romain": ("{1}",),
  "citation": ("« {texte/1} »",),
  "citation étrangère": ("« {texte/2} »",),
  "lien": ("[[{fr/1}|{texte/text}]]", "[[{fr/1}]]", "{texte/text/trad}"),
  "s, s-": ("{1}{2} siècle",),
  "sp, sp-": ("{1}{2} {3} {4}{5} siècle",),
  "sav, sav-": ("{1}{2} siècle av. J.-C.",),
  "er, ier": ("er",),
  "re, ière": ("re",),
  "e, ième": ("e",),
  "1er": ("1er",),
  "n°, numéro": ("no {1}", "no"),
  "M.": ("M. {1}", "M."),
  "Mme": ("Mme {1}", "Mme"),
  "unité, nombre, nb": ("{1} {2}{3}", "{1} {2}", "{1}"),
  "date, date-, date de naissance, date de décès": ("{1} {2} {3}", "{1} {2}", "{1}"),
  "japonais": ("{1} ({2}, {3})", "{1} ({2})", "{1}"),
}

_SPANISH: Rows = {
  "lang-*": ("en {language}, {1}",),
  "AFI": ("[{1}]",),
  "esd, versalita, versalitas": ("{1}",),
  "unidad": ("{1} {2}", "{1}"),
  "siglo": (*("{2=a}{3=s}siglo {1} a. C.", "{2=a}{1} a. C.", "{3=s}siglo {1}", "{1}"),),
  "fecha, fecha de nacimiento, fecha de fallecimiento": ("{1} de {2:month} de {3}",),
  "ill, enlace interlenguaje": ("[[{1}|{lt}]]", "[[{1}]]", "{lt/1}"),
  "nihongo": ("{1} ({2}, {3})", "{1} ({2})", "{1}"),
}

_JAPANESE: Rows = {
  "lang-*": ("{language}: {1}",),
  "lang-en-short": ("英: {1}",),
  "lang-fr-short": ("仏: {1}",),
  "lang-de-short": ("独: {1}",),
  "lang-it-short": ("伊: {1}",),
  "lang-es-short": ("西: {1}",),
  "lang-ru-short": ("露: {1}",),
  "lang-la-short": ("羅: {1}",),
  "ルビ, 読み仮名, ふりがな": ("{1}（{2}）", "{1}"),
  "JIS2004フォント, CP932フォント, 補助漢字フォント, 拡張漢字": ("{1}",),
  "要出典範囲, 要検証範囲": ("{1}",),
  "仮リンク, 日本語版にない記事リンク": ("[[{1}|{label}]]", "[[{1}]]", "{label/1}"),
  "生年月日, 生年月日と年齢": ("{1}年{2}月{3}日",),
}

IN_ONE: dict[str, Rows] = {"en": _ENGLISH, "de": _GERMAN, "fr": _FRENCH, "es": _SPANISH}
IN_ONE |= {"ja": _JAPANESE}

_CODES = """
  en de fr es ja it pt la el grc ru uk pl cs hu ro tr ar he fa hi zh ko
  vi nl sv da no fi ca eu ga cy
"""
_NAMES: dict[str, str] = {
  "en": """
    English German French Spanish Japanese Italian Portuguese Latin Greek Ancient_Greek Russian
    Ukrainian Polish Czech Hungarian Romanian Turkish Arabic Hebrew Persian Hindi Chinese Korean
    Vietnamese Dutch Swedish Danish Norwegian Finnish Catalan Basque Irish Welsh
  """,
  "de": """
    englisch deutsch französisch spanisch japanisch italienisch portugiesisch lateinisch griechisch
    altgriechisch russisch ukrainisch polnisch tschechisch ungarisch rumänisch türkisch arabisch
    hebräisch persisch hindi chinesisch koreanisch vietnamesisch niederländisch schwedisch dänisch
    norwegisch finnisch katalanisch baskisch irisch walisisch
  """,
  "fr": """
    anglais allemand français espagnol japonais italien portugais latin grec grec_ancien russe
    ukrainien polonais tchèque hongrois roumain turc arabe hébreu persan hindi chinois coréen
    vietnamien néerlandais suédois danois norvégien finnois catalan basque irlandais gallois
  """,
  "es": """
    inglés alemán francés español japonés italiano portugués latín griego griego_antiguo ruso
    ucraniano polaco checo húngaro rumano turco árabe hebreo persa hindi chino coreano vietnamita
    neerlandés sueco danés noruego finés catalán euskera irlandés galés
  """,
  "ja": """
    英語 ドイツ語 フランス語 スペイン語 日本語 イタリア語 ポルトガル語 ラテン語 ギリシア語
    古代ギリシア語 ロシア語 ウクライナ語 ポーランド語 チェコ語 ハンガリー語 ルーマニア語 トルコ語
    アラビア語 ヘブライ語 ペルシア語 ヒンディー語 中国語 朝鮮語 ベトナム語 オランダ語 スウェーデン語
    デンマーク語 ノルウェー語 フィンランド語 カタルーニャ語 バスク語 アイルランド語 ウェールズ語
  """,
}
# Names of languages by code, in each language.
LANGUAGE_NAMES: dict[str, dict[str, str]] = {
  language: dict(zip(_CODES.split(), (x.replace("_", " ") for x in names.split()), strict=True))
  for language, names in _NAMES.items()
}

_MONTHS: dict[str, str] = {
  "en": """
    January February March April May June July August September October November December
  """,
  "es": """
    enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
  """,
}
MONTHS: dict[str, dict[str, str]] = {
  language: {str(number): name for number, name in enumerate(names.split(), start=1)}
  for language, names in _MONTHS.items()
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
