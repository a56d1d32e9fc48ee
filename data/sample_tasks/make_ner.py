"""Named entity recognition: documents of a few sentences, as text and as columns."""

import re
from collections.abc import Iterable

from .narrator import Case, Narrator, Passage, Told, joined
from .types import is_adjective, types_of

WORD = re.compile(r"\d+(?:[.,]\d+)+|\w+(?:-\w+)*|'s\b|\S")
LONGEST, LONG = 380, 620  # characters
DOCUMENT = "-DOCSTART-"


def draw(narrator: Narrator, case: Case) -> dict | None:
  """A document, or nothing where chance finds none."""
  world = narrator.world
  about, passage = document(narrator, case)
  if passage is None:
    return None
  labels = [
    "MISC" if is_adjective(world, passage.text, s) else types_of(world.entities[s.title]).ner
    for s in passage.spans
  ]
  return {
    "text": passage.text,
    "sentences": passage.sentences,
    "spans": [[s.start, s.end, label] for s, label in zip(passage.spans, labels, strict=True)],
    "meta": {"about": about},
  }


def document(narrator: Narrator, case: Case) -> tuple[str, Passage | None]:
  """Returns the subject of a document and its text; none where chance finds none of the length."""
  rng = narrator.rng
  focus = rng.choice([e for e in narrator.entities if (e.seen == "no") == case.unseen])
  told = _paragraph(narrator, focus.title, rng.randint(2, 4))
  if case.long or rng.random() < 0.3:
    others = sorted({title for t in told for title in t.sentence.titles} - {focus.title})
    for title in rng.sample(others, min(len(others), 4 if case.long else 1)):
      told += _paragraph(narrator, title, 5 if case.long else 1)
  passage = joined(told)
  fits = (len(passage.text) >= LONG) if case.long else (len(passage.text) <= LONGEST)
  return focus.title, passage if fits else None


def _paragraph(narrator: Narrator, title: str, count: int) -> list[Told]:
  """An entity's lead, facts about it, and at times a remark that compares it with another."""
  rng, entity = narrator.rng, narrator.world.entities[title]
  facts = narrator.some(narrator.facts_of(title), count)
  told = narrator.paragraph(entity, facts, lead=rng.random() < 0.5)
  return told + narrator.remark(entity) if rng.random() < 0.4 else told


def column_text(documents: Iterable[dict]) -> str:
  """The documents in columns: a word and its tag (IOB2) a line."""
  parts = []
  for document in documents:
    parts.append(f"{DOCUMENT} O\n")
    for start, end in document["sentences"]:
      words = tagged_words(document["text"], (start, end), document["spans"])
      parts.append("".join(f"{word} {tag}\n" for word, tag in words))
  return "\n".join(parts)


def tagged_words(text: str, sentence: tuple[int, int], spans: list[list]) -> list[tuple[str, str]]:
  """The words of a sentence, cut where entities begin and end too, with their tags."""
  tags: list[tuple[str, str]] = []
  position = sentence[0]
  inside = [span for span in spans if sentence[0] <= span[0] < sentence[1]]
  for start, end, label in [*inside, [sentence[1], sentence[1], ""]]:
    tags += [(word, "O") for word in WORD.findall(text[position:start])]
    name = WORD.findall(text[start:end])
    tags += [(word, f"{'I' if n else 'B'}-{label}") for n, word in enumerate(name)]
    position = end
  return tags
