"""Splits texts into sentences.

The rules are sentencex's for a language. For a language without its own, sentencex takes those of a
related language or else of English.
"""

import bisect
import itertools
import re

# sentencex's time grows with a text's length times its signs. So a text that is longer than two
# windows, as hardly any paragraph is, is split window by window. Where more than every eighth or
# fourth character is a sign, as in no prose, windows are short.
_WINDOW, _SHORT_WINDOW, _SHORTEST_WINDOW = 4096, 1024, 256
_SIGN = re.compile(r"[^\w\s]")


def split_sentences(text: str, language: str) -> list[str]:
  """Returns the sentences of a text, which joined are the text again.

  In a text of more than 8,192 characters, a sentence of more than 3,000 may be cut.
  """
  if len(text) <= 2 * _SHORT_WINDOW:
    return _segments(text, language)
  signs = len(_SIGN.findall(text)) / len(text)
  window = _SHORTEST_WINDOW if signs > 1 / 4 else _SHORT_WINDOW if signs > 1 / 8 else _WINDOW
  sentences, start = [], 0
  while len(text) - start > 2 * window:
    complete = _complete(text[start : start + window], language)
    sentences += complete
    start += sum(map(len, complete))
  return sentences + _segments(text[start:], language)


def _complete(window: str, language: str) -> list[str]:
  """Returns the sentences of a window that do not depend on what follows it, at least one.

  A sentence that ends in the last quarter might end elsewhere if more were seen.
  """
  sentences = _segments(window, language)
  ends = list(itertools.accumulate(map(len, sentences)))
  complete = bisect.bisect_right(ends, len(window) * 3 // 4)
  if complete or len(sentences) > 1:
    return sentences[: max(complete, 1)]
  space = window.rfind(" ", len(window) // 2)
  return [window[: space if space > 0 else len(window)]]


def _segments(text: str, language: str) -> list[str]:
  import sentencex

  try:
    sentences: list[str] = sentencex.segment(language, text)
  except BaseException as fault:
    # A panic in Rust is no Exception. No text with single spaces has been seen to cause one.
    if type(fault).__name__ != "PanicException":
      raise
    return [text]
  return sentences if sum(map(len, sentences)) == len(text) else [text]
