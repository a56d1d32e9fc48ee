"""Right, wrong and missed links of a text, by the rules of ELEVANT's published figures.

Names may lie in others, as Paris in the Duke of Paris: an outer name is right as a whole or by its
parts, and counts once in either case. Of a text annotated in part only that part is scored.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from luke_jax.tasks.linking.files import LinkedMention, LinkingExample
from luke_jax.text.tokenizer import Bounds

_OF_WORDS = "'\"_"  # beside letters and digits, where the ends of two names are compared


class Meaning(NamedTuple):
  """An entity by its title and perhaps its item; neither of them for none that is known."""

  title: str = ""
  item: str | None = None

  @property
  def known(self) -> bool:
    """Returns whether it is an entity."""
    return bool(self.title or self.item)

  def same(self, other: "Meaning") -> bool:
    """Returns whether both are one entity: by their items, or by titles where one has no item."""
    if self.item and other.item:
      return self.item == other.item
    return self.known and _spelt(self.title) == _spelt(other.title)


Answers = Mapping[Bounds, Meaning]  # by span; an answer may be that there is no known entity


class Counts(NamedTuple):
  """Numbers of right answers, of wrong ones, and of names that were missed."""

  right: int = 0
  wrong: int = 0
  missed: int = 0


def _spelt(title: str) -> str:
  """Returns a title with the first letter and the spaces that all titles have."""
  plain = " ".join(title.replace("_", " ").split())
  return plain[:1].upper() + plain[1:]


def meaning_of(mention: LinkedMention) -> Meaning:
  """Returns what a mention means."""
  return Meaning(mention.title or "", mention.item)


def all_mentions(mentions: Iterable[LinkedMention]) -> Iterator[LinkedMention]:
  """Yields the mentions and those that lie in them."""
  for mention in mentions:
    yield mention
    yield from all_mentions(mention.parts)


def counted(example: LinkingExample, answers: Answers) -> Answers:
  """Returns the answers in the annotated part, at the spans of the names that they are about.

  In a text that was annotated in part, spans end where words do: `Curie's` is about `Curie`.
  """
  if example.annotated is None:
    return answers
  names = {x[:2] for x in all_mentions(example.mentions or ())}
  by_words = {_to_words(example.text, span): span for span in answers}
  found: dict[Bounds, Meaning] = {}
  for name in names:
    for span in (name, by_words.get(_to_words(example.text, name)), by_words.get(name)):
      if span in answers:
        found[name] = answers[span]
        break
  extended = names | {_to_words(example.text, name) for name in names}
  first, last = example.annotated
  for span, meaning in answers.items():
    inside = first <= span[0] and span[1] <= last
    if inside and extended.isdisjoint((span, _to_words(example.text, span))):
      found[span] = meaning
  return found


def _to_words(text: str, span: Bounds) -> Bounds:
  """Returns the span with the whole of the words in which it begins and ends."""
  start, end = span
  while start > 0 and (text[start - 1].isalnum() or text[start - 1] in _OF_WORDS):
    start -= 1
  while end < len(text) - 1 and (text[end].isalnum() or text[end] in _OF_WORDS):
    end += 1
  if text[start : start + 1] == '"' and '"' not in text[start + 1 : end]:
    start += 1  # opens a quotation that goes on behind the name
  return start, end


def counts_of(example: LinkingExample, answers: Answers, *, with_none: bool = False) -> Counts:
  """Returns the counts of a text; with none also of names without a known entity."""
  answers, roots = counted(example, answers), example.mentions or ()
  names = {x[:2] for x in all_mentions(roots)}
  others = sum((x.known or with_none) for span, x in answers.items() if span not in names)
  each = [_counts_of_name(root, answers, with_none) for root in roots]
  right, wrong, missed = (sum(x[i] for x in each) for i in range(3))
  return Counts(right, wrong + others, missed)


def _counts_of_name(root: LinkedMention, answers: Answers, with_none: bool) -> Counts:
  """Returns the counts of a name by the labels in it that tell: once right, missed or neither."""
  each = [_of_label(x, answers, with_none) for x in _telling(root, answers) or [root]]
  missed = any(x.missed for x in each)
  wrong = sum(x.wrong for x in each)
  return Counts(int(not missed and not wrong and any(x.right for x in each)), wrong, int(missed))


def _telling(
  label: LinkedMention, answers: Answers, outer: LinkedMention | None = None
) -> list[LinkedMention]:
  """Returns the labels in a name by which it is counted; none if nothing in it was found.

  It is the outermost that is right, else those nested in it that have an answer, together with the
  missed ones beside them.
  """
  if _is_right(label, answers):
    return [label]
  found = [_telling(x, answers, label) for x in label.parts]
  if any(found):
    missed = (x for x, of_part in zip(label.parts, found, strict=True) if not of_part)
    lacking = [x for x in missed if x[:2] not in answers]
    return [*(x for of_part in found for x in of_part), *lacking]
  if outer is not None and label[:2] in answers and label[:2] != outer[:2]:
    return [label]
  return []


def _is_right(label: LinkedMention, answers: Answers) -> bool:
  gold, said = meaning_of(label), answers.get(label[:2])
  return said is not None and (gold.same(said) or not (gold.known or said.known))


def _of_label(label: LinkedMention, answers: Answers, with_none: bool) -> Counts:
  """Returns the counts of a label by itself.

  An optional one is never missed nor right, and wrong if another entity is given for its own.
  """
  gold, said = meaning_of(label), answers.get(label[:2])
  if said is None:
    missed = not label.optional or any(not x.optional for x in all_mentions(label.parts))
    return Counts(missed=int(missed and (gold.known or with_none)))
  right = _is_right(label, answers)
  if label.optional:
    wrong = gold.known and not right if said.known else with_none
    return Counts(wrong=int(wrong))
  if not (gold.known or with_none):
    return Counts(wrong=int(said.known))
  return Counts(int(right), int(not right and (said.known or with_none)), int(not right))
