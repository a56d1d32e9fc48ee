"""Questions in other words, with more said or something else asked: what harder.py's rules do."""

import random
import re
from collections.abc import Iterator, Mapping, Sequence

Words = Mapping[str, Sequence[str]]

DATED = re.compile(
  r"\d|century|January|February|March|April|May|June|July|August|September|October"
)
REASONED = re.compile(r"because|due to|since|reason|cause|in order|so that|led to|result|\bas\b")
PLACED = re.compile(r"\b(?:in|at|near|to|from|on) (?:the )?[A-Z]")
AGENT = re.compile(r"\bby\b")
LACKS = {"When": DATED, "Why": REASONED, "Where": PLACED}
VERB = r"(?:\w+ed|built|won|sold|bought|held|made|found|led|lost|taught|sent|put|set|hit|left)"
WHO = re.compile(rf"^Who ({VERB}) ((?:the|a|an|his|her) [\w' -]+|[A-Z][\w' -]+)\?$")
PASSIVE = re.compile(rf"^(When|Where|Why) (was|were) (.+) ({VERB})\?$")
AUXILIARY = re.compile(r"^(When|Where|Why|In what year|In which year) (did|was|were|is|are|does) ")
OBJECT = re.compile(r"^What (did|does|do) (.{3,60}\b[a-z]+)\?$")
SAID = re.compile(
  r"\b((?i:in|during|after|before|under|at)"
  r" (?:the |his |her |its |their )?[\w'-]+(?: [\w'-]+)?)(?=[,.;])"
)
SUBJECT = (
  r"(?!Al|Due|In |At |Aft|When|While|As |Long|His |Her |Its |Their |\w+ed )"
  r"((?:The |A )?[A-Z][\w' -]{2,50}?)"
)
IN_YEAR = re.compile(rf"^{SUBJECT} (was|were) ({VERB})(?: [\w' -]{{0,60}}?)? in (\d{{4}})\b")
BY_NAME = re.compile(rf"^{SUBJECT} (?:was|were) ({VERB})(?: in \d{{4}})? by ")
DID = re.compile(rf" ({VERB}) (the [a-z]+(?: [a-z]+)?|[A-Z]\w+)(?=[,.;]| in \d| with | by | for )")
ROLES = (
  "president chairman director leader founder head king queen mayor governor manager owner coach"
  " author architect editor designer producer composer captain commander secretary inventor"
)
ROLE = re.compile(
  rf"^, (?:an?|the|then) ({'|'.join(ROLES.split())}) of ((?:the )?[\w' ]{{3,40}}?)[,.]"
)
CHANGES = (1, 1, 2, 2, 3)  # of words in a paraphrase


def lower(text: str) -> str:
  """Returns a question's beginning as it is within a sentence."""
  return text[0].lower() + text[1:]


def added(question: str, circumstance: str, rng: random.Random) -> str:
  """Returns a question with a circumstance before or after it."""
  if not question.endswith("?"):
    return ""
  if rng.random() < 0.3:
    return f"{circumstance[0].upper()}{circumstance[1:]}, {lower(question)}"
  circumstance = lower(circumstance)
  return f"{question[:-1].rstrip()} {circumstance}?"


def with_circumstance(question: str, answers: Sequence[str], told: str, rng: random.Random) -> str:
  """Returns a question with one that stands beside its answer and is not in it."""
  asked = set(re.findall(r"\w+", question.lower()))
  found = [
    x
    for x in SAID.findall(told)
    if not any(answer in x or x in answer for answer in answers)
    and not set(re.findall(r"\w{4,}|\d+", x.lower())) & asked
    and not any(set(x.split()[1:]) & set(answer.split()) for answer in answers)
  ]
  return added(question, rng.choice(found), rng) if found else ""


def asked_otherwise(question: str, answers: Sequence[str], told: str, rng: random.Random) -> str:
  """Returns a question after a date, a place, a reason or a person that a sentence lacks."""
  lacking = [word for word, pattern in LACKS.items() if not pattern.search(told)]
  found = []
  if match := WHO.match(question):
    verb, thing = match.groups()
    were = "were" if re.search(r"[^s]s$", thing) else "was"
    found = [f"{word} {were} {thing} {verb}?" for word in lacking]
  elif match := AUXILIARY.match(question):
    rest = question[match.end(1) :]
    found = [word + rest for word in lacking if word != match[1]]
    if not AGENT.search(told) and (passive := PASSIVE.match(question)):
      found.append(f"Who {passive[4]} {passive[3]}?")
  elif (match := OBJECT.match(question)) and answers and len(answers[0].split()) < 6:
    found = [f"{word} {match[1]} {match[2]} {answers[0]}?" for word in lacking]
  return rng.choice(found) if found else ""


def in_other_words(
  question: str, answers: Sequence[str], words: tuple[Words, Words], rng: random.Random
) -> str:
  """Returns a question with other words that mean the same, or turned to the passive."""
  same, first = words
  text = question
  if (match := WHO.match(question)) and rng.random() < 0.6:
    were = "were" if re.search(r"[^s]s$", match[2]) else "was"
    text = f"By whom {were} {match[2]} {match[1]}?"
  elif rng.random() < 0.6:
    text = _asked(question, answers, first, rng)
  places = [x for x in re.finditer(r"\b[a-z]+\b", text) if x.group() in same]
  chosen = rng.sample(places, min(rng.choice(CHANGES), len(places)))
  for place in sorted(chosen, key=lambda x: -x.start()):
    text = text[: place.start()] + rng.choice(same[place.group()]) + text[place.end() :]
  return text


def _asked(question: str, answers: Sequence[str], first: Words, rng: random.Random) -> str:
  """Returns a question that begins with other words; with a year only if the answer is one."""
  begins = [x for x in first if question.startswith(f"{x} ")]
  if not begins:
    return question
  begin = max(begins, key=len)
  others = [x for x in first[begin] if "year" not in x or re.fullmatch(r"\d{4}", answers[0])]
  if begin in ("What", "Which") and re.match(r"\w+ (?:is|was|are|were|d|ha|ca)", question):
    return question
  return rng.choice(others) + question[len(begin) :] if others else question


def told(text: str, names: Sequence[tuple[str, str]]) -> Iterator[tuple[str, int, int]]:
  """Yields short questions that a sentence of a text answers, and where their answers are."""
  for match in re.finditer(r"(?:^|(?<=[.!?] ))[A-Z][^.!?]+[.!?]", text):
    sentence, begin = match.group(), match.start()
    if found := IN_YEAR.match(sentence):
      subject, were, verb, _ = found.groups()
      when = "In which year" if len(subject) % 2 else "When"
      yield f"{when} {were} {_plain(subject)} {verb}?", begin + found.start(4), begin + found.end(4)
    for name, kind in names:
      for start in (x.start() for x in re.finditer(re.escape(name), sentence)):
        place = (begin + start, begin + start + len(name))
        before, after = sentence[:start], sentence[start + len(name) :]
        if (found := BY_NAME.match(before)) and found.end() == start and kind in ("PER", "ORG"):
          yield f"Who {found[2]} {_plain(found[1])}?", *place
        elif kind == "PER" and (found := DID.match(after)):
          yield f"Who {found[1]} {found[2]}?", *place
        elif kind == "PER" and (found := ROLE.match(after)):
          yield f"Who was the {found[1]} of {found[2]}?", *place


def _plain(subject: str) -> str:
  return lower(subject) if subject.startswith(("The ", "A ")) else subject
