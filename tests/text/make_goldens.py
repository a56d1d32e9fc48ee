"""Records what the slow tokenizers of transformers 4.57 make of the cases below.

Run it from the repository root, with transformers 4.57: python tests/text/make_goldens.py
It writes tests/goldens/text.json, which the tests read without transformers.
"""

import json
import tempfile
from functools import partial
from pathlib import Path

from transformers import LukeTokenizer, MLukeTokenizer, __version__

GOLDENS = Path(__file__).resolve().parents[1] / "goldens"
MAX_MENTION_LENGTH = 6

ENTITIES = {"[PAD]": 0, "[UNK]": 1, "[MASK]": 2, "[MASK2]": 3, "Los Angeles": 4, "Tokyo": 5}
LANGUAGE_ENTITIES = {
  "[MASK]": 0,
  "[UNK]": 1,
  "[PAD]": 2,
  "[MASK2]": 3,
  "en:Los Angeles": 4,
  "en:Tokyo": 5,
  "ja:東京": 5,
}

LIVES = "Beyoncé lives in Los Angeles, doesn't she?"
NAMES = [(0, 7), (17, 28)]
TOWER = "東京タワー (Tokyo Tower) は港区にあります。"
FAMILY = "The 👩‍👩‍👧 system of Zoe\u0308 lives in Ko\u0308ln 🇩🇪."
ARABIC = "القاهرة هي عاصمة مصر."
HEBREW = "ירושלים היא עיר עתיקה."
SPACES = "  two  spaces\tand a\u00a0tab \n\n end  "
SPECIAL = "The <mask> of <s>Japan</s> is  <mask>, <ent>Tokyo<ent> <unk>."
ODD = "ﬁne ㍿ ½ ▁ Ġ \u200b x"

# task, then the arguments of the call
CASES = [
  (None, {"text": text})
  for text in ("", " ", LIVES, " " + LIVES, TOWER, FAMILY, ARABIC, HEBREW, SPACES, SPECIAL, ODD)
]
CASES += [
  (None, {"text": LIVES, "entity_spans": []}),
  (None, {"text": LIVES, "entity_spans": NAMES}),
  (None, {"text": LIVES, "entity_spans": [(3, 5), (0, 28), (17, 20), (3, 5), (2, 42)]}),
  (None, {"text": LIVES, "entity_spans": [(7, 13), (14, 17), (28, 30)]}),
  (None, {"text": LIVES, "entity_spans": NAMES, "entities": ["[MASK]", "Los Angeles"]}),
  (None, {"text": LIVES, "entity_spans": NAMES, "entities": ["nobody", "Tokyo"]}),
  (None, {"text": TOWER, "entity_spans": [(0, 2), (0, 5), (7, 18), (20, 22)]}),
  (None, {"text": FAMILY, "entity_spans": [(4, 9), (6, 17), (20, 24), (34, 39), (40, 42)]}),
  (None, {"text": ARABIC, "entity_spans": [(0, 7), (17, 20)]}),
  (None, {"text": HEBREW, "entity_spans": [(0, 7), (8, 21)]}),
  (None, {"text": SPACES, "entity_spans": [(2, 5), (1, 13), (14, 17), (20, 23), (27, 32)]}),
  (None, {"text": SPECIAL, "entity_spans": [(4, 10), (17, 22), (31, 37), (43, 50), (11, 52)]}),
  (None, {"text": ODD, "entity_spans": [(0, 1), (0, 3), (4, 5), (6, 7), (8, 13)]}),
  (None, {"text": "Who?", "text_pair": LIVES}),
  (None, {"text": "Who?", "text_pair": ""}),
  (
    None,
    {
      "text": "Does Tokyo lie in Japan?",
      "text_pair": TOWER,
      "entity_spans": [(5, 10), (18, 23)],
      "entity_spans_pair": [(0, 2), (7, 18)],
      "entities": ["Tokyo", "[MASK]"],
      "entities_pair": ["Tokyo", "Tokyo Tower"],
    },
  ),
  (None, {"text": LIVES, "text_pair": TOWER, "entity_spans": NAMES, "entity_spans_pair": [(0, 2)]}),
  (None, {"text": LIVES, "text_pair": TOWER, "entity_spans": NAMES}),
]
for text, head, tail in (
  (LIVES, (0, 7), (17, 28)),
  (LIVES, (0, 3), (3, 7)),
  (TOWER, (7, 18), (0, 5)),
  (FAMILY, (34, 39), (20, 24)),
  (ARABIC, (0, 7), (17, 20)),
  (SPACES, (2, 5), (14, 17)),
  (SPECIAL, (17, 22), (31, 37)),
  (ODD, (0, 3), (4, 5)),
):
  CASES += [
    ("entity_classification", {"text": text, "entity_spans": [head]}),
    ("entity_pair_classification", {"text": text, "entity_spans": [head, tail]}),
    ("entity_pair_classification", {"text": text, "entity_spans": [tail, head]}),
    ("entity_span_classification", {"text": text, "entity_spans": [head, tail]}),
  ]

# Several rows: padding, and the cut of texts and entities that are too long.
BATCHES = [
  (
    None,
    {
      "text": [LIVES, "", TOWER],
      "entity_spans": [NAMES, [], [(0, 2), (0, 5), (7, 18)]],
      "padding": True,
    },
  ),
  (
    "entity_span_classification",
    {"text": [LIVES, TOWER], "entity_spans": [NAMES, [(0, 2), (0, 5), (7, 18)]], "padding": True},
  ),
  (
    None,
    {
      "text": [LIVES, TOWER],
      "entity_spans": [NAMES, [(0, 2), (0, 5), (7, 18), (20, 22)]],
      "truncation": True,
      "max_length": 12,
      "max_entity_length": 2,
    },
  ),
  (
    None,
    {
      "text": [LIVES, "Who?"],
      "text_pair": [TOWER, TOWER],
      "entity_spans": [NAMES, [(0, 3)]],
      "entity_spans_pair": [[(0, 2), (7, 18)], [(0, 2), (0, 5), (20, 22)]],
      "truncation": True,
      "max_length": 21,
      "max_entity_length": 3,
    },
  ),
]


def in_language(given: dict) -> dict:
  """The arguments with titles as the keys of the vocabulary with languages."""
  return {
    name: [title if title.startswith("[") else f"en:{title}" for title in value]
    if name.startswith("entities")
    else value
    for name, value in given.items()
  }


def recorded(tokenizer, kind: str, prefix: bool, cases: list) -> list:
  """Each case with what a fresh tokenizer for its task makes of it."""
  return [[kind, prefix, task, given, dict(tokenizer(task=task)(**given))] for task, given in cases]


def main() -> None:
  byte_level, sentence_piece = GOLDENS / "text/byte_level", GOLDENS / "text/sentence_piece"
  vocabs = {"byte_level": ENTITIES, "sentence_piece": LANGUAGE_ENTITIES}
  with tempfile.TemporaryDirectory() as folder:
    for name, vocab in vocabs.items():
      (Path(folder) / name).write_text(json.dumps(vocab), encoding="utf-8")
    luke = partial(
      LukeTokenizer,
      byte_level / "vocab.json",
      byte_level / "merges.txt",
      Path(folder) / "byte_level",
      max_mention_length=MAX_MENTION_LENGTH,
    )
    mluke = partial(
      MLukeTokenizer,
      sentence_piece / "sentencepiece.bpe.model",
      Path(folder) / "sentence_piece",
      max_mention_length=MAX_MENTION_LENGTH,
    )
    cases = CASES + BATCHES
    records = recorded(luke, "byte_level", False, cases)
    records += recorded(partial(luke, add_prefix_space=True), "byte_level", True, CASES)
    cases = [(task, in_language(given)) for task, given in cases]
    records += recorded(mluke, "sentence_piece", False, cases)
  head = {
    "transformers": __version__,
    "max_mention_length": MAX_MENTION_LENGTH,
    "entity_vocabs": vocabs,
  }
  lines = ",\n".join(json.dumps(r, ensure_ascii=False, separators=(",", ":")) for r in records)
  text = f'{json.dumps(head, ensure_ascii=False)[:-1]}, "records": [\n{lines}\n]}}\n'
  (GOLDENS / "text.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
  main()
