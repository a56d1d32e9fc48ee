"""Tables of a build's pages, sentences and links: what is in them, and who reads them."""

import gzip
import json

import pytest
from small_wikis import build_wiki, write_wikidata
from wiki_builds import contents

from luke_jax.cli.wiki import EngineOptions, wiki_export
from luke_jax.errors import InputError
from luke_jax.files import Path
from luke_jax.wiki.export.export import export
from luke_jax.wiki.export.read import read_pages, read_sentences
from luke_jax.wiki.export.tables import COLUMNS, ExportedLink, read_rows
from luke_jax.wiki.stages.engines import beam, local

PAGES = {
  "Ana": "{{Short description|Moth}}\n'''Ana''' is a [[moth|white moth]] of [[Rome]].  It"
  " [[fly|flies]].\n== Life ==\nShe has [[Nowhere|no home]]. Of [[Ana]].\n[[Category:Moths]]",
  "Rome": "Rome is a town. [[Old Rome|The\nold]] [[Ana. It|Ana. It]] stays.",
  "Old Rome": "#REDIRECT [[Rome]]",
  "Urbs": "#REDIRECT [[Old Rome]]",
  "Fly": "To fly is to move.",
  "Moth": "A moth flies.",
}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
  return build_wiki(tmp_path_factory.mktemp("wiki") / "en", PAGES, part_size=600)


def exported(build, output, workers=1, **options):
  with local(workers) as engine:
    return export(build, output, engine, **options)


@pytest.fixture(scope="module")
def items(tmp_path_factory):
  path = tmp_path_factory.mktemp("items") / "items.tsv"
  path.write_text("Ana\tQ7\nRome\tQ220\nOld Rome\tQ8\nNo page\tQ9\n")
  return path


@pytest.fixture(scope="module", params=["parquet", "jsonl"])
def tables(request, built, items, tmp_path_factory):
  if request.param == "parquet":
    pytest.importorskip("pyarrow")
  output = tmp_path_factory.mktemp("tables") / request.param
  done = exported(built, output, items=items, form=request.param)
  assert len(done.shards) > 1
  return output


def test_pages(tables):
  ana, rome, *_ = read_pages(tables)
  assert (ana.page_id, ana.title, ana.item, ana.revision) == (1, "Ana", "Q7", 1)
  assert (ana.description, ana.type_phrase, ana.categories) == ("Moth", "white moth", ("Moths",))
  assert ana.first_sentence == "Ana is a white moth of Rome." and ana.names == ("Ana",)
  assert ana.text.split("\n")[1] == "She has no home. Of Ana."
  assert rome.redirects == ("Old Rome", "Urbs") and rome.item == "Q220" and rome.names == ()
  assert [page.title for page in read_pages(tables)] == ["Ana", "Rome", "Fly", "Moth"]
  assert {page.text for page in read_pages(tables, text=False)} == {""}


def test_sentences(tables):
  first, second, third, *rest = read_sentences(tables)
  assert first.text == "Ana is a white moth of Rome."
  assert [first.text[x.start : x.end] for x in first.links] == ["white moth", "Rome"]
  assert first.links[1] == ExportedLink(23, 27, "Rome", "Rome", 2, "Q220", None, "link")
  assert (second.text, second.links[0].target) == ("It flies.", "Fly")
  assert (third.section, third.abstract, third.paragraph, third.sentence) == ("Life", False, 1, 2)
  assert third.links[0].target == "Nowhere"
  assert third.links[0].target_id is None
  over = next(x for sentence in rest for x in sentence.links if x.redirect)
  assert (over.text, over.target, over.redirect) == ("The old", "Rome", "Old Rome")
  assert all(x.links for x in read_sentences(tables, linked=True))


def test_links(tables):
  rows = list(read_rows(tables, "links", list(COLUMNS["links"])))
  sentences = [x for x in read_sentences(tables) for _ in x.links]
  links = [link for x in read_sentences(tables) for link in x.links]
  assert [row["start"] for row in rows] == [link.start for link in links]
  assert [row["title"] for row in rows] == [x.title for x in sentences]


def test_the_card(tables):
  card = (tables / "README.md").read_text()
  assert "config_name: sentences" in card and "| pages | 4 |" in card
  assert all(f"| {name} |" in card for columns in COLUMNS.values() for name in columns)


def test_the_same_bytes_from_every_engine(built, items, tables, tmp_path):
  form = tables.name
  exported(built, tmp_path / "two", workers=2, items=items, form=form)
  assert contents(tmp_path / "two") == contents(tables)


@pytest.mark.slow
def test_the_same_bytes_from_beam(built, tmp_path):
  pytest.importorskip("apache_beam", reason="needs the extra `beam`")
  exported(built, tmp_path / "one", form="jsonl")
  with beam([]) as engine:
    export(built, tmp_path / "beam", engine, form="jsonl")
  assert contents(tmp_path / "beam") == contents(tmp_path / "one")


def test_what_is_done_stays(built, items, tmp_path):
  output = tmp_path / "out"
  assert exported(built, output, items=items, form="jsonl").fresh
  assert not exported(built, output, items=items, form="jsonl").fresh
  assert exported(built, output, form="jsonl").fresh
  assert next(read_pages(output)).item is None
  assert sorted(path.name for path in output.iterdir()) == ["README.md", "data"]


def test_pandas_reads_them(built, tmp_path):
  pandas = pytest.importorskip("pandas")
  exported(built, tmp_path / "out", form="jsonl")
  (first, *_) = sorted((tmp_path / "out/data").glob("pages-*"))
  assert next(iter(pandas.read_json(first, lines=True).title)) == "Ana"


PROPS = (
  "INSERT INTO `page_props` VALUES (2,'wikibase_item','Q220',NULL),(1,'displaytitle','x','y'),"
  "(1,'wikibase_item','Q7',NULL);\n"
)
SITES = (
  "INSERT INTO `x` VALUES (1,220,'enwiki','Rome'),(2,7,'enwiki','Ana'),(3,9,'dewiki','Fly'),"
  "(4,8,'enwiki','Old Rome');\n"
)


@pytest.mark.parametrize("text", [PROPS, SITES])
def test_items_of_sql(text, built, tmp_path):
  path = tmp_path / "a.sql.gz"
  path.write_bytes(gzip.compress(b"-- a\n" + text.encode()))
  exported(built, tmp_path / "out", items=path, form="jsonl")
  assert [page.item for page in read_pages(tmp_path / "out")] == ["Q7", "Q220", None, None]


def item(id, label, title=None, **claims):
  statements = {
    property: [
      {"mainsnak": {"snaktype": "value", "datavalue": {"value": {"id": x}}}, "rank": rank}
      for x, rank in values.items()
    ]
    for property, values in claims.items()
  }
  labels = {"en": {"value": label}}
  links = {"enwiki": {"title": title}} if title else []
  return {"type": "item", "id": id, "labels": labels, "claims": statements, "sitelinks": links}


def test_what_items_are_instances_of(built, tmp_path):
  ranks = {"Q1": "normal", "Q2": "deprecated", "Q9": "normal"}
  items = [
    item("Q1", "taxon", P279={"Q5": "normal"}, P31={"Q6": "normal"}),
    item("Q7", "Ana", "Ana", P31=ranks),
    item("Q220", "Rome", "Rome", P31={"Q3": "preferred", "Q1": "normal"}),
    item("Q3", "town"),
    item("Q4", "Fly", "Fly") | {"claims": []},
  ]
  lines = ",\n".join(map(json.dumps, items))
  (tmp_path / "items.json").write_text(f"[\n{lines}\n]\n")
  exported(built, tmp_path / "out", items=tmp_path / "items.json", form="jsonl")
  found = {page.title: page.instance_of for page in read_pages(tmp_path / "out")}
  assert found == {"Ana": ("taxon",), "Rome": ("town",), "Fly": (), "Moth": ()}
  (tmp_path / "items.json").write_text('[\n{"type":"item","id":"Q7","claims":{"P31":[1]}}\n]\n')
  with pytest.raises(InputError, match="line 2: labels, aliases or claims; expected an entity"):
    exported(built, tmp_path / "bad", items=tmp_path / "items.json", form="jsonl")


NAMES = {"Q7": {"en": "Ana"}, "Q220": {"mul": "Roma", "de": "Rom"}, "Q3": {}}
ALIASES = {
  "Q7": {"en": ["a  moth", "Ána"], "mul": ["Ána", "Anna\nMoth"]},
  "Q220": {"de": ["Ewige Stadt"]},
  "Q3": [],
}


def test_what_items_are_called(built, tmp_path):
  titles = {"Q7": "Ana", "Q220": "Rome", "Q3": "Fly"}
  items = [
    item(id, "", title)
    | {"labels": {code: {"value": name} for code, name in NAMES[id].items()}}
    | {"aliases": {x: [{"value": y} for y in ys] for x, ys in dict(ALIASES[id]).items()}}
    for id, title in titles.items()
  ]
  lines = ",\n".join(map(json.dumps, items))
  (tmp_path / "items.json").write_text(f"[\n{lines}\n]\n")
  exported(built, tmp_path / "out", items=tmp_path / "items.json", form="jsonl")
  assert {page.title: page.aliases for page in read_pages(tmp_path / "out")} == {
    "Ana": ("Ana", "a moth", "Ána", "Anna Moth"),
    "Rome": ("Roma",),
    "Fly": (),
    "Moth": (),
  }


def test_a_table_of_before_is_refused(tables, tmp_path):
  """Tables once had no column of aliases."""
  first = sorted((tables / "data").glob("pages-*"))[0]
  old = tmp_path / "data" / first.name
  old.parent.mkdir()
  if tables.name == "parquet":
    from pyarrow import parquet

    parquet.write_table(parquet.read_table(first).drop_columns("aliases"), old)
  else:
    rows = map(json.loads, gzip.decompress(first.read_bytes()).splitlines())
    lines = [json.dumps({x: y for x, y in row.items() if x != "aliases"}) for row in rows]
    old.write_bytes(gzip.compress("\n".join(lines).encode()))
  with pytest.raises(InputError, match=r"no column '?aliases'?; .* export an older one's build"):
    list(read_pages(tmp_path))


def test_items_of_wikidata(built, tmp_path):
  links = {"Q7": {"enwiki": "Ana"}, "Q8": {"enwiki": "Old Rome"}}
  path = write_wikidata(tmp_path / "items.json", links)
  exported(built, tmp_path / "out", items=path, form="jsonl")
  assert [page.item for page in read_pages(tmp_path / "out")] == ["Q7", None, None, None]


BAD_ITEMS = {
  "a.tsv": ("Ana\tP7\n", "'P7' is no item; expected Q and a number"),
  "b.tsv": ("Bo\tQ7\n", "no item of a page of this wiki; expected page_props.sql.gz"),
  "c.tsv": ("Ana\n", "line 1"),
  "d.sql": ("nothing\n", "no item of a page"),
}


@pytest.mark.parametrize("name", BAD_ITEMS)
def test_bad_items(name, built, tmp_path):
  text, fault = BAD_ITEMS[name]
  (tmp_path / name).write_text(text)
  with pytest.raises(InputError, match=fault):
    exported(built, tmp_path / "out", items=tmp_path / name, form="jsonl")
  assert not (tmp_path / "out/README.md").exists()


def test_bad_folders(built, tmp_path):
  with pytest.raises(InputError, match="no finished stage; expected a folder of"):
    exported(tmp_path, tmp_path / "out")
  with pytest.raises(InputError, match="the folder of a build; expected another"):
    exported(built, built)
  with pytest.raises(InputError, match="no such file; expected page_props"):
    exported(built, tmp_path / "out", items=Path("/none"))
  with pytest.raises(InputError, match="no table of pages; expected a folder of"):
    list(read_pages(tmp_path))
  (tmp_path / "data").mkdir()
  (tmp_path / "data/pages-0.jsonl.gz").write_bytes(gzip.compress(b'{"title": 1}\n')[:-9])
  with pytest.raises(InputError, match="expected lines as its name says"):
    list(read_pages(tmp_path))
  with pytest.raises(InputError, match="not a folder of this command"):
    exported(built, tmp_path, form="jsonl")


def test_the_command(built, tmp_path, capsys):
  wiki_export(built, output=tmp_path / "out", form="jsonl", engine=EngineOptions())
  printed = json.loads(capsys.readouterr().out.splitlines()[-1])
  assert printed["pages"] == 4 and printed["folder"] == str(tmp_path / "out")
