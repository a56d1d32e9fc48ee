"""A vocabulary of several languages is what plain loops over Wikidata's items make."""

import bz2
import gzip
import json
import random
import subprocess
import sys
from collections import Counter

import pytest
from small_wikis import TOKENIZER, build_wiki, write_wikidata

from luke_jax.cli import main
from luke_jax.errors import InputError
from luke_jax.pipeline.metadata import read_metadata
from luke_jax.text import load_entity_vocab
from luke_jax.wiki.read.wikidata import read_items

LANGUAGES = ("de", "en", "ja", "nl")
SPECIAL = ("[PAD]", "[UNK]", "[MASK]")


def pages_of(language, number, rng):
  """Pages of which most exist in every language, linked at random; one of them is a redirect."""
  titles = [f"{language.upper()} title {i}" for i in range(number) if i % 5 or rng.random() < 0.5]

  def line():
    return " and then also ".join(f"[[{rng.choice(titles)}]]" for _ in range(3))

  pages = {title: "\n".join(line() for _ in range(4)) for title in titles}
  return pages | {f"{language.upper()} alias": f"#REDIRECT [[{titles[0]}]]"}


@pytest.fixture(scope="module")
def wikis(tmp_path_factory):
  """Language -> pages, language -> folder of the build."""
  rng, folder = random.Random(0), tmp_path_factory.mktemp("wikis")
  pages = {language: pages_of(language, 40, rng) for language in LANGUAGES}
  builds = {
    language: build_wiki(folder / language, pages[language], language) for language in LANGUAGES
  }
  return pages, builds


def items_of(number=40):
  """Item -> sitelinks: item i is about the pages i, some of which do not exist."""
  rng = random.Random(1)
  items = {
    f"Q{i}": {
      f"{language}wiki": f"{language.upper()} title {i}"
      for language in (*LANGUAGES, "xx")
      if rng.random() < 0.8
    }
    for i in range(number)
  }
  aliases = {f"{language}wiki": f"{language.upper()} alias" for language in LANGUAGES}
  return items | {"Q100": aliases, "Q101": {}, "Q102": {"enwikiquote": "EN title 1"}}


@pytest.fixture(scope="module")
def wikidata(tmp_path_factory):
  return write_wikidata(tmp_path_factory.mktemp("wikidata") / "all.json", items_of())


def joined_by_hand(pages, items, min_languages):
  """(titles with languages, links) of each item that is kept, in the order of the ids."""
  counts = {language: Counter() for language in pages}
  for language, texts in pages.items():
    for text in texts.values():
      if not text.startswith("#"):
        counts[language].update(part.split("]]")[0] for part in text.split("[[")[1:])
  kept = []
  for links in items.values():
    found = [
      (links[f"{language}wiki"], language)
      for language in sorted(pages)
      if counts[language].get(links.get(f"{language}wiki"))
    ]
    if len(found) >= min_languages:
      kept.append((found, sum(counts[language][title] for title, language in found)))
  return sorted(kept, key=lambda item: (-item[1], item[0]))


def command(capsys, *arguments):
  status = main(["wiki", "join", *map(str, arguments)])
  printed = capsys.readouterr()
  return status, printed.out, printed.err


@pytest.mark.parametrize("min_languages", [1, 3, 4])
@pytest.mark.parametrize("languages", [LANGUAGES, ("nl", "en", "ja", "de")])
def test_the_vocabulary_is_that_of_plain_loops(
  languages, min_languages, wikis, wikidata, tmp_path, capsys
):
  pages, builds = wikis
  expected = joined_by_hand(pages, items_of(), min_languages)
  size = 3 + len(expected) * 2 // 3
  output = tmp_path / "entities.jsonl"
  folders = [builds[language] for language in languages]
  options = ("--output", output, "--min-languages", min_languages, "--entities", size)
  status, printed, error = command(capsys, wikidata, *folders, *options)
  assert (status, error) == (0, "")
  vocab = load_entity_vocab(output)
  assert vocab.multilingual
  assert len(vocab) == size > 6
  assert [vocab.title(id) for id in range(3)] == list(SPECIAL)
  assert list(vocab.counts[:3]) == [0, 0, 0]
  found = [(vocab.titles(id), vocab.counts[id]) for id in range(3, size)]
  assert found == expected[: size - 3]
  assert json.loads(printed) == {
    "file": str(output),
    "entities": size,
    "titles": sum(len(titles) for titles, _ in found),
    "items": len(expected),
  }


def test_fewer_items_than_entities_are_all_of_them(wikis, wikidata, tmp_path, capsys):
  pages, builds = wikis
  items = len(joined_by_hand(pages, items_of(), 3))
  output = tmp_path / "entities.jsonl"
  options = ("--output", output, "--entities", 1000)
  status, _, error = command(capsys, wikidata, *builds.values(), *options)
  assert (status, len(load_entity_vocab(output))) == (0, items + 3)
  assert error == (
    f"luke-jax: --entities 1000: the vocabulary has {items + 3}, all {items} items that may be"
    " entities and 3 special ones\n"
  )


def sql_of(items):
  """The rows of wb_items_per_site, in the order of the titles and not of the items."""
  rows = [(site, title, id[1:]) for id, links in items.items() for site, title in links.items()]
  rows = [f"({i},{id},'{site}','{title}')" for i, (site, title, id) in enumerate(sorted(rows))]
  lines = [",".join(rows[i : i + 30]) for i in range(0, len(rows), 30)]
  return "".join(f"INSERT INTO `wb_items_per_site` VALUES {line};\n" for line in lines).encode()


def test_every_kind_of_file_gives_the_same_bytes(wikis, wikidata, tmp_path, capsys):
  _, builds = wikis
  data, results, sql = wikidata.read_bytes(), [], sql_of(items_of())
  for name, packed in (
    ("all.json", data),
    ("all.json.gz", gzip.compress(data)),
    ("all.json.bz2", bz2.compress(data[:999]) + bz2.compress(data[999:])),
    ("items.sql", sql),
    ("items.sql.gz", gzip.compress(sql)),
  ):
    (tmp_path / name).write_bytes(packed)
    output = tmp_path / "entities.jsonl"
    options = ("--output", output, "--entities", 10)
    assert command(capsys, tmp_path / name, *builds.values(), *options)[0] == 0
    results.append(output.read_bytes())
  assert len(set(results)) == 1


def test_a_build_of_each_language_takes_it(wikis, wikidata, tmp_path, capsys):
  _, builds = wikis
  output = tmp_path / "entities.jsonl"
  options = ("--output", output, "--entities", 13)
  assert command(capsys, wikidata, *builds.values(), *options)[0] == 0
  for language in ("nl", "ja"):
    dump, folder = builds[language].with_suffix(".xml"), tmp_path / language
    arguments = [dump, "--tokenizer", TOKENIZER, "--output", folder, "--vocabulary", output]
    assert main(["wiki", "build", *map(str, arguments), "--unknown-entities", "skip"]) == 0
    assert read_metadata(folder / "pretraining").entity_vocab_size == 13
    vocab = load_entity_vocab(folder / "pretraining")
    assert vocab.languages == set(LANGUAGES)
    assert vocab.ids == load_entity_vocab(output).ids


def test_an_item_that_stands_twice_counts_once(wikis, wikidata, tmp_path, capsys):
  _, builds = wikis
  items = items_of()
  twice = items | {f"{id}00": links for id, links in items.items()}
  results = []
  for number, given in enumerate((items, twice)):
    output = tmp_path / f"{number}.jsonl"
    dump = write_wikidata(tmp_path / f"{number}.json", given)
    options = ("--output", output, "--entities", 10)
    assert command(capsys, dump, *builds.values(), *options)[0] == 0
    results.append(output.read_bytes())
  assert results[0] == results[1]


def test_entities_of_other_types_are_passed_over(tmp_path):
  dump = tmp_path / "all.json"
  property, lexeme = '{"type":"property","id":"P1"}', '{"type":"lexeme","id":"L1","sitelinks":7}'
  item = '{"type":"item","id":"Q1","sitelinks":[]}'
  dump.write_text(f"[\n{property},\n{lexeme},\n{item}\n]\n")
  with dump.open("rb") as file:
    assert [item[:2] for item in read_items(file, dump)] == [("Q1", {})]


def broken(change):
  lines = [f'{{"type":"item","id":"Q{i}","sitelinks":{{}}}},' for i in range(2000)]
  lines = ["[", *lines, "]"]
  change(lines)
  return "\n".join(lines).encode()


@pytest.mark.parametrize(
  "name, data, line",
  [
    ("a.json", b"", "ends after line 0 without ]; expected a whole dump"),
    ("a.json", b"<mediawiki>", "line 1 is '<mediawiki>'; expected [, the start of a dump"),
    ("a.json", broken(lambda x: x.pop()), "ends after line 2001 without ]"),
    ("a.json", broken(lambda x: x.__setitem__(7, '{"id": ')), "line 8: '{\"id\":' is no JSON"),
    ("a.json", broken(lambda x: x.__setitem__(7, "[[],")), "line 8: '[[],' is no JSON"),
    ("a.json", broken(lambda x: x.__setitem__(7, "[" * 9**5)), "is no JSON; expected an entity"),
    ("a.json", broken(lambda x: x.__setitem__(7, "7,")), "line 8: '7,'; expected an entity"),
    ("a.json", broken(lambda x: x.__setitem__(7, "{},")), "line 8: '{},'; expected an entity"),
    (
      "a.json",
      broken(lambda x: x.__setitem__(7, '{"type":"item","id":"Q1","sitelinks":{"enwiki":3}}')),
      'line 8: sitelinks; expected {"enwiki": {"title": "Tokyo"}}',
    ),
    ("a.json", broken(lambda x: x.append("x")), "line 2003: more after the closing ]"),
    ("a.json", broken(lambda x: None).replace(b"Q7", b"\xff"), "is no JSON"),
    ("a.json.gz", gzip.compress(broken(lambda x: None))[:-900], "cut off after line"),
    ("a.json.bz2", bz2.compress(broken(lambda x: None))[:-900], "cut off after line 0"),
    ("a.json.gz", broken(lambda x: None), "damaged after line 0 (Not a gzipped file"),
    ("a.json.bz2", broken(lambda x: None), "damaged after line 0 (Invalid data stream)"),
    (
      "a.json.gz",
      gzip.compress(broken(lambda x: None))[:-8] + bytes(8),
      "damaged after line 2001 (CRC check failed",
    ),
    ("a.xml", b"", "not named as .sql, .sql.gz, .json, .json.gz, .json.bz2; expected wb_items_per"),
    ("a.sql", b"(1,'wikibase_item','Q1',NULL)", "no title in dewiki, enwiki, jawiki, nlwiki"),
    ("a.sql.gz", gzip.compress(broken(lambda x: None))[:-9], "cut off or damaged"),
    ("a.json", b'[\n{"type":"item","id":"x","sitelinks":{}}\n]', "'x' is no item; expected Q and"),
  ],
)
def test_a_bad_dump_is_one_line(name, data, line, wikis, tmp_path, capsys):
  dump, output = tmp_path / name, tmp_path / "entities.jsonl"
  dump.write_bytes(data)
  status, printed, error = command(capsys, dump, *wikis[1].values(), "--output", output)
  assert (status, printed) == (2, "")
  assert error.startswith(f"luke-jax: {dump}: ")
  assert error.count("\n") == 1
  assert line in error
  assert list(tmp_path.iterdir()) == [dump]


@pytest.mark.parametrize(
  "options, line",
  [
    (("--min-languages", "5"), "--min-languages: 5 with 4 languages; expected a whole number"),
    (("--min-languages", "0"), "--min-languages: 0 with 4"),
    (("--entities", "3"), "--entities: 3; expected a whole number from 4"),
    (("--output", "entities.json"), "--output entities.json: no name of a vocabulary"),
    (("--output", "no/such/e.jsonl"), "--output no/such/e.jsonl: no folder no/such"),
  ],
)
def test_bad_options_are_one_line(options, line, wikis, wikidata, tmp_path, capsys):
  output = ("--output", tmp_path / "e.jsonl") if "--output" not in options else ()
  status, _, error = command(capsys, wikidata, *wikis[1].values(), *output, *options)
  assert status == 2
  assert error.count("\n") == 1
  assert line in error


def test_builds_that_do_not_fit(wikis, wikidata, tmp_path, capsys):
  _, builds = wikis
  options = ("--output", tmp_path / "e.jsonl", "--min-languages", 1)
  _, _, error = command(capsys, wikidata, builds["en"], builds["en"], *options)
  assert "in 'en' as" in error
  _, _, error = command(capsys, wikidata, tmp_path, *options)
  assert "no finished stage; expected a folder of luke-jax wiki build" in error
  _, _, error = command(capsys, tmp_path / "none.json", builds["en"], *options)
  assert "no such file; expected wb_items_per_site.sql.gz of Wikidata" in error


MEMORY = """
import re, sys
from pathlib import Path
from luke_jax.cli.wiki import wiki_join
dump, output, *builds = map(Path, sys.argv[1:])
wiki_join(dump, tuple(builds), output=output, entities=10)
print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""


@pytest.mark.slow
def test_memory_is_flat_in_the_size_of_the_dump(wikis, tmp_path):
  peaks = []
  for size in (1, 40):
    dump = tmp_path / f"{size}.json.gz"
    links = {f"{language}wiki": {"title": "Not a page"} for language in LANGUAGES}
    entity = {"type": "item", "id": "Q1", "claims": {"P": "x" * 10_000}, "sitelinks": links}
    lines = f"{json.dumps(entity)},\n" * 100
    with gzip.open(dump, "wt", compresslevel=1) as file:
      file.write("[\n")
      for _ in range(size * 10):
        file.write(lines)
      rest = write_wikidata(tmp_path / "few.json", items_of()).read_text()
      file.write(rest.removeprefix("[\n"))
    arguments = map(str, (dump, tmp_path / "e.jsonl", *wikis[1].values()))
    run = subprocess.run(
      [sys.executable, "-c", MEMORY, *arguments], capture_output=True, check=True, text=True
    )
    peaks.append(1024 * int(run.stdout.split()[-1]))
  assert peaks[1] < peaks[0] + 5_000_000


def test_items_are_read_lazily(tmp_path):
  dump = tmp_path / "a.json"
  dump.write_text('[\n{"type":"item","id":"Q1","sitelinks":{}},\nbroken\n]\n')
  with dump.open("rb") as file:
    items = read_items(file, dump)
    assert next(items).id == "Q1"
    with pytest.raises(InputError, match="line 3: 'broken' is no JSON"):
      next(items)
