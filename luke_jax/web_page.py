"""Shared head and style of the HTML pages, which load nothing from elsewhere.

The style fits wide and narrow screens, and light and dark themes.
"""

import html

_STYLE = """
:root { color-scheme: light dark; --word: #fde68a; --entity: #cfe8ff; --unknown: #e5e7eb;
  --quiet: #57606a; --bar: #94a3b8 }
@media (prefers-color-scheme: dark) { :root { --word: #6b5310; --entity: #1f4468;
  --unknown: #3a3f45; --quiet: #a3adb8 } }
body { font: 1rem/1.6 system-ui, sans-serif; max-width: 48rem; margin: 2rem auto; padding: 0 1rem;
  overflow-wrap: anywhere }
h2 { font-size: 1rem; color: var(--quiet) }
p { white-space: pre-line }
mark { background: var(--entity); color: inherit; border-radius: .2em; padding: 0 .15em }
mark.word { background: var(--word) } mark.unknown { background: var(--unknown) }
mark small { color: var(--quiet) }
table { border-collapse: collapse } td { padding: .1rem 1rem .1rem 0 }
td.bar { width: 12rem; min-width: 5rem } td.bar div { background: var(--bar); height: .7rem }
th { text-align: left; font-weight: normal; color: var(--quiet); padding: .1rem 1rem .1rem 0 }
td.number { font-variant-numeric: tabular-nums } .number { text-align: right; white-space: nowrap }
h1 { font-size: 1.6rem } table { overflow-wrap: normal }
@media (max-width: 30rem) { td, th { padding-right: .6rem } td.bar { width: 5rem } }
"""
FOOT = "</body>\n</html>\n"


def head(title: str, language: str = "en") -> str:
  """Returns the HTML before the body's content; `FOOT` is what follows it."""
  return (
    f'<!doctype html>\n<html lang="{html.escape(language)}">\n<head>\n<meta charset="utf-8">\n'
    '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    f"<title>{html.escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
  )
