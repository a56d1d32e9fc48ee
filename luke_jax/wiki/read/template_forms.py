"""Forms of templates: the text that each shows of its parameters, in all languages and in one.

Each row has names of templates, divided by commas, and forms: the first one whose parameters are
all given is the template's text. Upper and lower case of names are equal. In a form

- `{1}` and `{lt}` are parameters, and `{lt/1}` is the first of several that is given;
- `{!df}` has to be given and `{3=s}` to be that; neither is shown;
- `{1+}` is all positional ones from the first on, and `{1+-}` the same with hyphens between them;
- `{1:language}` is the name of the language with that code, `{1:month}` that of the month;
- `{measure}` is a quantity with its unit, and `{sounds}` a pronunciation sound by sound;
- `{language}` is the language of the code that `*` stands for in the template's name.

Templates that are not here, such as notes and references, show nothing.
"""

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

IN_ONE: dict[str, Rows] = {
  "en": _ENGLISH,
  "de": _GERMAN,
  "fr": _FRENCH,
  "es": _SPANISH,
  "ja": _JAPANESE,
}

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
