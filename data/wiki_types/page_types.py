"""Types of a wiki's pages as labels, and what their titles say about names elsewhere."""

import collections
import re
from collections.abc import Iterable

from data.wiki_types.kinds import NAMES, kinds_of, words
from luke_jax.wiki.export.tables import ExportedPage
from luke_jax.wiki.read.own_names import base_title

FEW = 3  # pages with a type, from which a text's own words may be read as it
OFTEN = 4  # pages, from which a word of types, of titles or of first names is no accident
LONGEST = 4  # words of a label
_PART = re.compile(r",| and | or ")
_GROUPS = words("species genus family type kind form breed subspecies tribe")
# Last words of phrases that do not say what a page is about.
_NONE = words(
  "list surname name term word best one first result results title end position number year no live"
  " designation interest breakdown standing timeline filmography discography consisting struck home"
  " back practice running years annals residence level part member members relevant annually"
  " composed international relation use set example pair day host head recipient figure personality"
  " volume official star"
)


def labels_of(phrase: str) -> tuple[str, ...]:
  """Returns the labels in a type phrase: the words of each of its parts, and fewer of them.

  "American singer and jazz guitarist" gives singer, jazz guitarist and guitarist.
  """
  labels: list[str] = []
  for part in _PART.split(phrase)[-3:]:
    words = part.split()
    if "of" in words[1:]:
      place = words.index("of", 1)
      group = words[place - 1].lower()
      labels += [group] if group in _GROUPS else []
      words = words[place + 1 :] if group in _GROUPS else words[:place]
    words = [word for word in words if word.islower()]
    if words and words[-1] not in _NONE and len(words[-1]) > 2:
      labels += [" ".join(words)] if 1 < len(words) <= LONGEST else []
      labels += [" ".join(words[-2:])] if len(words) > 2 else []
      labels.append(words[-1])
  return tuple(dict.fromkeys(labels))


def with_kinds(labels: Iterable[str]) -> tuple[str, ...]:
  """Returns labels and the two first kinds that they are of."""
  labels = tuple(labels)
  kinds = dict.fromkeys(kind for label in labels for kind in kinds_of(label))
  names = [name for kind in list(kinds)[:2] for name in NAMES[kind]]
  return tuple(dict.fromkeys([*labels, *names]))


class PageTypes:
  """Types of pages by title, and what these teach about the words of names.

  `heads` are types of one word, `nouns` those and `phrases` all that several pages have;
  `first_names` begin names of persons, `adjectives` say where someone is from, and `common` are
  titles that are no names.
  """

  def __init__(self, pages: Iterable[ExportedPage]):
    self.labels: dict[str, tuple[str, ...]] = {}
    counts: collections.Counter[str] = collections.Counter()
    firsts: collections.Counter[str] = collections.Counter()
    adjectives: collections.Counter[str] = collections.Counter()
    self.common: set[str] = set()
    for page in pages:
      if page.disambiguation:
        continue
      base = base_title(page.title)
      if f" {base.lower()}" in (page.first_sentence or ""):
        self.common.add(base.lower())
      phrase = page.type_phrase or ""
      labels = labels_of(phrase) or tuple(map(str.lower, page.instance_of))
      if not labels:
        continue
      self.labels[page.title] = labels
      counts.update(labels)
      words, named = phrase.split(), base.split()
      if len(words) > 1 and words[0][:1].isupper() and words[1].islower():
        adjectives[words[0]] += 1
      if any("person" in kinds_of(x) for x in labels) and len(named) in (2, 3):
        firsts[named[0]] += 1
    self.phrases = {label for label, count in counts.items() if count >= FEW}
    self.heads = {label for label in counts if " " not in label}
    self.nouns = {x for x, count in counts.items() if count >= OFTEN and " " not in x}
    self.adjectives = {word for word, count in adjectives.items() if count >= OFTEN}
    self.first_names = {
      word for word, count in firsts.items() if count >= FEW and word.isalpha() and len(word) > 2
    }
