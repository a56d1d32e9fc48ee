"""Splits texts into sentences.

The rules are sentencex's for a language. For a language without its own, sentencex takes those of a
related language or else of English.
"""


def split_sentences(text: str, language: str) -> list[str]:
  """Returns the sentences of a text, which joined are the text again."""
  import sentencex

  try:
    sentences: list[str] = sentencex.segment(language, text)
  except BaseException as fault:
    # A panic in Rust is no Exception. No text with single spaces has been seen to cause one.
    if type(fault).__name__ != "PanicException":
      raise
    return [text]
  return sentences if sum(map(len, sentences)) == len(text) else [text]
