"""Facts as cloze questions, in the form of mLAMA: read from a folder, or made of Wikidata.

python -m experiments.mluke.facts WIKIDATA --templates FILE --output FOLDER
"""

import json
import re
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Annotated, NamedTuple

from tyro.conf import Positional, arg

from luke_jax.cli import script
from luke_jax.errors import InputError
from luke_jax.files import Path, whole
from luke_jax.formats.files import Faults, string
from luke_jax.formats.records import read_records
from luke_jax.training.metrics import summary_line
from luke_jax.wiki.read.wikidata import check_name, read_items

TEMPLATES = "templates.jsonl"
SUBJECT, OBJECT = "[X]", "[Y]"
_PARENTHESIS = re.compile(r" \([^()]*\)$")


class Fact(NamedTuple):
  """A subject and its object, as texts name them and as the titles of their pages."""

  subject: str
  object: str
  subject_title: str
  object_title: str
  place: str = ""  # file and line

  @property
  def asked(self) -> tuple[str, str]:
    """Returns the subject and its title, which several facts may share: their question is one."""
    return self.subject, self.subject_title


class RelationTemplate(NamedTuple):
  """A sentence with places for subject and object, and the facts that it is about."""

  name: str
  template: str
  facts: Sequence[Fact]

  def text(self, subject: str, object: str) -> tuple[str, tuple[int, int], tuple[int, int]]:
    """Returns the sentence about two names, and the characters of each of them."""
    text, spans, start = "", {}, 0
    for match in re.finditer(r"\[[XY]\]", self.template):
      name = subject if match[0] == SUBJECT else object
      text += self.template[start : match.start()]
      spans[match[0]] = (len(text), len(text) + len(name))
      text, start = text + name, match.end()
    return text + self.template[start:], spans[SUBJECT], spans[OBJECT]


def read_templates(path: Path) -> dict[str, str]:
  """Returns the template of each relation of a file of JSON lines, as mLAMA has them."""
  templates: dict[str, str] = {}

  def add(value: Mapping[str, object], id: str, place: str) -> None:
    name, template = string(value, "relation", place), string(value, "template", place)
    if not re.fullmatch(r"\w+", name) or name in templates:
      raise InputError(f"{place}: relation {name!r}; expected a name such as P36, each once")
    if [template.count(x) for x in (SUBJECT, OBJECT)] != [1, 1]:
      raise InputError(f"{place}: template {template!r}; expected one {SUBJECT} and one {OBJECT}")
    templates[name] = template

  for _ in read_records(path, add, Faults()):
    pass
  if not templates:
    raise InputError(f"{path}: no templates; expected one on each line")
  return templates


def read_relations(folder: Path) -> list[RelationTemplate]:
  """Returns the relations of a folder: templates.jsonl, and RELATION.jsonl for each that has facts.

  A fact has `sub_label` and `obj_label`. `sub_title` and `obj_title` are those of the pages where
  they differ; what else mLAMA has is not read.
  """
  relations = []
  for name, template in read_templates(folder / TEMPLATES).items():
    path = folder / f"{name}.jsonl"
    if path.is_file() and (facts := read_records(path, _fact, Faults())):
      relations.append(RelationTemplate(name, template, facts))
  if not relations:
    raise InputError(f"{folder}: no facts; expected RELATION.jsonl for relations of {TEMPLATES}")
  return relations


def _fact(value: Mapping[str, object], id: str, place: str) -> Fact:
  subject, object = (string(value, name, place).strip() for name in ("sub_label", "obj_label"))
  if not subject or not object:
    raise InputError(f"{place}: sub_label or obj_label: empty; expected a name")
  titles = {"sub_title": subject, "obj_title": object, **value}
  of_subject, of_object = (string(titles, name, place) for name in ("sub_title", "obj_title"))
  return Fact(subject, object, of_subject, of_object, place)


def make_facts(
  dump: Path, templates: Path, output: Path, language: str, *, wiki: str, most: int
) -> dict[str, int]:
  """Writes a folder of facts of Wikidata, and returns how many each relation has, if any.

  Subjects and objects are the items with a page in the wiki; what they are called is the label in
  the language, or else the title without its parenthesis. Of a relation with more than `most` facts
  those of evenly spaced subjects are kept.
  """
  check_name(dump)
  if output.exists():
    raise InputError(f"{output}: exists; expected a new folder")
  by_relation = read_templates(templates)
  names: dict[str, tuple[str, str]] = {}
  pairs: dict[str, list[tuple[str, str]]] = defaultdict(list)
  with dump.open("rb") as file:
    for item in read_items(file, dump, language, tuple(by_relation)):
      if title := item.sitelinks.get(wiki):
        names[item.id] = (item.label or _PARENTHESIS.sub("", title), title)
        for relation, values in item.claims.items():
          pairs[relation] += [(item.id, value) for value in values]
  if not names:
    raise InputError(f"{dump}: no item with a page in {wiki}; expected one, see --wiki")
  known = {name: [x for x in pairs[name] if x[1] in names] for name in by_relation}
  kept = {name: x[:: -(-len(x) // most)] for name, x in known.items() if x}
  if not kept:
    raise InputError(f"{dump}: no facts of {', '.join(by_relation)}; expected some")
  output.mkdir(parents=True)
  for name, of_relation in kept.items():
    _write(output / f"{name}.jsonl", [_as_json(*pair, names) for pair in of_relation])
  rows = [{"relation": name, "template": by_relation[name]} for name in kept]
  _write(output / TEMPLATES, rows)
  return {name: len(x) for name, x in kept.items()}


def _as_json(subject: str, object: str, names: Mapping[str, tuple[str, str]]) -> dict[str, str]:
  (sub_label, sub_title), (obj_label, obj_title) = names[subject], names[object]
  labels = {"sub_label": sub_label, "obj_label": obj_label}
  titles = {"sub_title": sub_title, "obj_title": obj_title}
  return {"sub_uri": subject, "obj_uri": object} | labels | titles


def _write(path: Path, rows: Sequence[Mapping[str, str]]) -> None:
  with whole(path) as part:
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    part.write_text(text, encoding="utf-8")


def main(
  dump: Annotated[Path, Positional, arg(metavar="WIKIDATA")],
  /,
  *,
  templates: Path,
  output: Path,
  language: str = "en",
  wiki: str | None = None,
  most: int = 1000,
) -> None:
  """Makes facts to ask a pretrained model about, of a JSON dump of Wikidata, which is CC0.

  Of each relation that has a template these are the pairs of items that both have a page in the
  wiki, in the form of mLAMA.

      python -m experiments.mluke.facts latest-all.json.bz2 \\
        --templates experiments/mluke/templates_de.jsonl --language de --output facts/de

  Args:
    dump: JSON dump of Wikidata, plain or compressed.
    templates: File of JSON lines with a relation, such as P36, and its template with [X] and [Y].
    output: Folder for the facts and the templates.
    language: Language of the names.
    wiki: Wiki of the pages, as sitelinks name it; by default the Wikipedia of the language.
    most: Number of facts of a relation that are kept at most.
  """
  if most < 1:
    raise InputError(f"--most: {most}; expected a whole number from 1")
  counts = make_facts(dump, templates, output, language, wiki=wiki or f"{language}wiki", most=most)
  print(summary_line({**counts, "output": str(output)}))


if __name__ == "__main__":
  sys.exit(script(main, "python -m experiments.mluke.facts"))
