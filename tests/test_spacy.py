"""The component of spaCy, in pipelines of a real one."""

import copy
import subprocess
import sys
import tomllib
from pathlib import Path

import jax
import pytest
from tiny import tiny_model

from luke_jax.errors import InputError
from luke_jax.inference.settings import settings_of
from luke_jax.inference.triples import Extractor, Name, Triple
from luke_jax.model import Model, load
from luke_jax.models.network import initial_params
from luke_jax.tasks.facts.task import Facts

spacy = pytest.importorskip("spacy")
from luke_jax import spacy as ours  # noqa: E402

pytestmark = [
  pytest.mark.slow,
  # Of spaCy's own libraries.
  pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
ROOT = Path(__file__).parents[1]
TEXTS = ["Beyoncé lives in Los Angeles.", "", "Tokyo is far away from Los Angeles."]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
  """Directories of a finder of names, of a model of relations and one of facts, tiny and random."""
  folder = tmp_path_factory.mktemp("spacy")
  for task in ("Span", "Pair"):
    tiny_model(f"LukeForEntity{task}Classification").save(folder / task)
  start = tiny_model("LukeForEntitySpanClassification")
  task = Facts(labels=("knows", "likes"), types=("PER",))
  made = task.network(start.backbone)
  params = initial_params(made, jax.random.key(0))
  tokenizer, processor = start.tokenizer, start.processor
  rest = settings_of(task)
  Model(made, params, task.labels, tokenizer, processor, rest=rest).save(folder / "Facts")
  return folder


@pytest.fixture(scope="module")
def nlp(models):
  made = spacy.blank("en")
  config = {"model": str(models / "Span"), "facts": str(models / "Facts"), "least_fact": 0.0}
  made.add_pipe("luke_jax", config=config)
  return made


def shown(doc):
  ents = [(x.start_char, x.end_char, x.label_, round(x._.score, 5)) for x in doc.ents]
  return ents, [(str(x.head), x.label, str(x.tail), round(x.score, 5)) for x in doc._.relations]


def test_entities_are_what_the_model_predicts(nlp, models):
  doc = nlp(TEXTS[0])
  predicted = load(models / "Span").predict(TEXTS[0])
  assert predicted
  expected = [(x.start, x.end, x.label, round(x.score, 5)) for x in predicted]
  assert shown(doc)[0] == expected


def test_a_stream_is_read_in_batches(nlp, monkeypatch):
  one_by_one = [shown(nlp(text)) for text in TEXTS]
  sizes = []
  names_in = Extractor.names_in
  monkeypatch.setattr(
    Extractor, "names_in", lambda self, texts: sizes.append(len(texts)) or names_in(self, texts)
  )
  assert [shown(doc)[0] for doc in nlp.pipe(TEXTS)] == [ents for ents, _ in one_by_one]
  assert sizes == [2] and one_by_one[1] == ([], [])


class Known:
  """Stands in for models: it finds three names, of which two overlap."""

  facts = object()

  def names_in(self, texts):
    names = [
      Name("Beyoncé", 0, 7, "PER", item="Q36153", score=0.9),
      Name("Los", 17, 20, "MISC", score=0.3),
      Name("Angel", 20, 26, "LOC", title="Los Angeles", score=0.8),
      Name("Los Angeles", 17, 28, "LOC", score=0.7),
    ]
    return [names for _ in texts]

  def related(self, texts, names):
    return [[Triple(x[0], "lives in", x[2], 0.6, (0, 29))] for x in names]


def annotated(text, ents=()):
  doc = spacy.blank("en")(text)
  doc.ents = [doc.char_span(*ent) for ent in ents]
  return ours.Component("names", Known())(doc)


def test_names_become_whole_tokens_and_the_surest_of_overlapping_ones():
  doc = annotated(TEXTS[0])
  found = [(x.text, x.label_, x.kb_id_, x._.score) for x in doc.ents]
  assert found == [
    ("Beyoncé", "PER", "Q36153", 0.9),
    ("Los", "MISC", "", 0.3),
    ("Angeles", "LOC", "Los Angeles", 0.8),
  ]
  (relation,) = doc._.relations
  assert (relation.head, relation.tail) == (doc.ents[0], doc.ents[2])
  assert relation.head.label_ == "PER" and relation.label == "lives in"


def test_entities_that_are_there_stay():
  doc = annotated(TEXTS[0], [(17, 28, "CITY")])
  assert [(x.text, x.label_) for x in doc.ents] == [("Beyoncé", "PER"), ("Los Angeles", "CITY")]
  assert str(doc._.relations[0].tail) == "Angeles"


def test_pipelines_and_documents_are_written_and_read(nlp, tmp_path):
  doc = nlp(TEXTS[0])
  assert shown(doc)[1]
  again = spacy.tokens.Doc(nlp.vocab).from_bytes(doc.to_bytes())
  assert shown(again) == shown(doc)
  nlp.to_disk(tmp_path / "pipeline")
  assert shown(spacy.load(tmp_path / "pipeline")(TEXTS[0])) == shown(doc)


def test_a_model_of_another_task_is_refused(models):
  nlp = spacy.blank("en")
  with pytest.raises(InputError, match=r"model: .*Pair: of relations; .* one of ner"):
    nlp.add_pipe("luke_jax", config={"model": str(models / "Pair")})
  with pytest.raises(InputError, match=r"labels: .* has its own; expected none"):
    nlp.add_pipe("luke_jax", config={"model": str(models / "Span"), "labels": ["ship"]})


@pytest.mark.parametrize(
  ("settings", "fault"),
  [
    ({"threshold": 2}, "threshold: 2; expected a number from 0 to 1"),
    ({"threshold": "0.5"}, "threshold: '0.5'; expected a number from 0 to 1"),
    ({"least_fact": 2}, "least_fact: 2; expected a number from 0 to 1"),
    ({"facts": "gone/model"}, "facts: gone/model: no such file or directory"),
  ],
)
def test_a_faulty_setting_is_told_before_any_document(models, settings, fault):
  with pytest.raises(InputError, match=fault):
    spacy.blank("en").add_pipe("luke_jax", config={"model": str(models / "Span"), **settings})


def test_a_forked_process_is_refused_and_a_spawned_one_makes_its_own(monkeypatch):
  made = ours.Component("names", Known())
  assert len(copy.copy(made)(spacy.blank("en")(TEXTS[0])).ents) == 3
  monkeypatch.setattr(ours.os, "getpid", lambda: -1)
  with pytest.raises(InputError, match="expected n_process=1"):
    made(spacy.blank("en")(TEXTS[0]))


def test_the_pipelines_evaluation_scores_names(nlp):
  gold = nlp(TEXTS[0])
  entities = [(x.start_char, x.end_char, x.label_) for x in gold.ents]
  example = spacy.training.Example.from_dict(nlp.make_doc(TEXTS[0]), {"entities": entities})
  assert nlp.evaluate([example])["ents_f"] == 1


def test_labels_are_looked_for_as_one_asks_for_them(minilm):
  nlp = spacy.blank("en")
  nlp.add_pipe(
    "luke_jax", config={"model": "english/labels", "labels": {"band": "a group that plays music"}}
  )
  doc = nlp("Pink Floyd played in France.")
  assert [(ent.text, ent.label_) for ent in doc.ents] == [("Pink Floyd", "band")]


def test_a_fault_goes_to_the_pipelines_handler(nlp, monkeypatch):
  def broken(self, texts):
    raise InputError("text 0: broken")

  monkeypatch.setattr(Extractor, "names_in", broken)
  with pytest.raises(InputError, match="text 0: broken"):
    nlp(TEXTS[0])
  caught = []
  nlp.get_pipe("luke_jax").set_error_handler(lambda name, _, docs, fault: caught.append(name))
  assert list(nlp.get_pipe("luke_jax").pipe([nlp.make_doc(TEXTS[0])])) == []
  assert caught == ["luke_jax"]
  nlp.get_pipe("luke_jax").set_error_handler(spacy.util.raise_error)


def test_spacy_finds_the_component_and_imports_no_jax_before(models, tmp_path):
  project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
  points = "spacy_factories"
  info = tmp_path / "installed-0.dist-info"
  info.mkdir()
  (info / "METADATA").write_text("Metadata-Version: 2.1\nName: installed\nVersion: 0\n")
  lines = [f"{name} = {place}" for name, place in project["entry-points"][points].items()]
  (info / "entry_points.txt").write_text("\n".join([f"[{points}]", *lines]) + "\n")
  code = f"""
import sys
sys.path[:0] = [{str(tmp_path)!r}, {str(ROOT)!r}]
import spacy
nlp = spacy.blank("en")
assert not {{"jax", "flax"}} & sys.modules.keys()
nlp.add_pipe("luke_jax", config={{"model": {str(models / "Span")!r}}})
print(len(nlp("Beyoncé lives in Los Angeles.").ents))
"""
  run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
  assert int(run.stdout) > 0
