"""Tasks on English text: MiniLM as a BERT, as a LUKE and as an ERNIE, and systems from nothing.

A row `-bert` reads the states of words; `-luke` is MiniLM as a LUKE with `[MASK]` over each name,
`-ernie` as an ERNIE of Tsinghua with no names linked; `-ma-` adds who wrote a review, and about
what. `-roberta` and `-xlm-r` have read nothing else: their weights are not among the free data.

    luke-jax get english
    python -m data.english.make ORIGINALS
    luke-jax experiment run experiments/english.py:relations-bert --seeds 1..3

data/english/README.md says what ORIGINALS holds. english.sh compares words with entities, and
families.sh, which makes datasets/fine_food and datasets/tener/wnut17, all systems.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

from luke_jax.convert.published import published
from luke_jax.convert.sources import read_backbone
from luke_jax.files import Path
from luke_jax.heads.attributes import Attributes
from luke_jax.models.system import Running, System
from luke_jax.pipeline.batches import Data
from luke_jax.systems.bert import RobertaConfig, XlmRobertaConfig
from luke_jax.systems.ernie_thu import ErnieThuConfig
from luke_jax.systems.luke import LukeConfig
from luke_jax.tasks.classification.task import TextClassification
from luke_jax.tasks.contract import TextTask
from luke_jax.tasks.facts.task import Facts
from luke_jax.tasks.ner.task import NamedEntities
from luke_jax.tasks.qa.task import QuestionAnswering
from luke_jax.tasks.relations.task import RelationClassification
from luke_jax.tasks.tagging.task import Tagging
from luke_jax.tasks.typing.task import EntityTyping
from luke_jax.text.entity_vocab import SPECIAL_ENTITIES
from luke_jax.training.experiment import Experiment, Run
from luke_jax.training.experiment_files import Row
from luke_jax.training.optimizer import Optimizer
from luke_jax.training.overrides import row

RELATIONS = """
child, competition class, constellation, crosses, follows, located in or next to body of water, main
subject, member of, military rank, mother, original language of film or TV show, part of, position
played on team / speciality, sport, spouse, voice type
"""
TYPES = """
academic journal, album, algorithm, astronomical object, award, band, book, chemical compound,
chemical element, conference, country, discipline, election, enzyme, event, field of research,
literary genre, location, magazine, measure, music genre, musical instrument, musician,
organization, other, person, poem, political party, politician, product, programming language,
protein, researcher, scientist, song, task of research, theory, university, writer
"""
SEMEVAL = """
Cause-Effect Component-Whole Content-Container Entity-Destination Entity-Origin Instrument-Agency
Member-Collection Message-Topic Product-Producer
"""

FACTS = """
applies to jurisdiction; author; award received; basin country; capital; capital of; cast member;
chairperson; characters; child; composer; conflict; contains administrative territorial entity;
continent; country; country of citizenship; country of origin; creator; date of birth; date of
death; developer; director; dissolved, abolished or demolished date; educated at; employer; end
time; ethnic group; father; followed by; follows; founded by; genre; has part; head of government;
head of state; headquarters location; inception; influenced by; instance of; languages spoken,
written or signed; league; legislative body; located in or next to body of water; located in the
administrative territorial entity; located in/on physical feature; location; location of
formation; lyrics by; manufacturer; member of; member of political party; member of sports team;
military branch; mother; mouth of the watercourse; narrative location; notable work; official
language; operator; original broadcaster; original language of film or TV show; owned by; parent
organization; parent taxon; part of; part of the series; participant; participant in; performer;
place of birth; place of death; platform; point in time; position held; present in work; producer;
product or material produced; production company; publication date; publisher; record label;
religion; replaced by; replaces; residence; screenwriter; separated from; sibling; sister city;
spouse; start time; subclass of; subsidiary; territory claimed by; work location
"""

WNUT17 = ("corporation", "creative-work", "group", "location", "person", "product")
DATA = "datasets/english"
TRAIN_FACTS = [f"datasets/redocred/train{part}.jsonl" for part in ("", "_sentences", "_denied")]
PHRASES = [f"datasets/redocred/train_phrases{part}.jsonl" for part in ("", "_denied")]
ROBERTA = RobertaConfig(
  vocab_size=50265 + 2,  # with the markers of entities
  hidden_size=128,
  num_hidden_layers=4,
  num_attention_heads=4,
  intermediate_size=512,
)
XLM_R = XlmRobertaConfig(**dataclasses.asdict(ROBERTA) | {"vocab_size": 1004})


def start_sizes(
  task: TextTask | type[TextTask], start: Path, system: type[System] | None = None
) -> System:
  """Returns the sizes of the model that a task, a class or a value, trains from a directory."""
  config = read_backbone(start, system).config
  if task.entity_table == "special" and config.decoders.entities:
    config = config.with_entities(len(SPECIAL_ENTITIES), SPECIAL_ENTITIES.pad_id)
  added = len(config.added_words(task.name, task.new_words))
  return dataclasses.replace(config, vocab_size=config.vocab_size + added)


def labels(text: str) -> tuple[str, ...]:
  """Returns the labels that a text lists between commas."""
  return tuple(" ".join(label.split()) for label in text.split(","))


def minilm(kind: type[TextTask], files: str, **fields: Any) -> Experiment:
  """Returns a task over MiniLM; `files` has {} for train, dev and test."""
  start = published("english")
  splits = {split: files.format(split) for split in ("train", "dev", "test")}
  return Experiment(
    model=start_sizes(kind, start),
    task=kind(text=str(start), **splits | fields),
    running=Running(dtype="bfloat16"),
    data=Data(batch_size=32, evaluation_batch_size=64, lengths=4),
    optimizer=Optimizer(learning_rate=2e-3, adapter=16, average=0.99, bias_correction=True),
    run=Run(epochs=3, start=str(start)),
  )


def relations(files: str = "{}", none: tuple[str, ...] = ()) -> Experiment:
  """Returns relations of two names, by the states of the markers' words."""
  every = (*none, *labels(RELATIONS))
  files = f"{DATA}/relations/{files}.jsonl"
  return minilm(RelationClassification, files, labels=every, words=64)


def semeval() -> Experiment:
  """Returns SemEval-2010 Task 8; its score is the official macro F1."""
  ways = [f"{x}({way})" for x in SEMEVAL.split() for way in ("e1,e2", "e2,e1")]
  files = f"{DATA}/semeval/{{}}.jsonl"
  return minilm(RelationClassification, files, labels=("Other", *ways), words=64)


def typing() -> Experiment:
  """Returns types of names, by the state of the marker's word."""
  fields = {"exclusive": True, "words": 96, "skip_bad": True}  # the few sentences that are longer
  return minilm(EntityTyping, f"{DATA}/typing/{{}}.jsonl", labels=labels(TYPES), **fields)


def ner() -> Experiment:
  """Returns names, spans by the states of their first and last word."""
  names = minilm(
    NamedEntities,
    f"{DATA}/ner/{{}}.jsonl",
    test=f"{DATA}/ner/test_crossner.jsonl",
    labels=("NIL", "LOC", "MISC", "ORG", "PER"),
    words=64,
    span_words=10,
    skip_bad=True,  # a sentence with a line of 64 underscores
  )
  # Without `lengths`, as the model of the box was trained at first.
  return dataclasses.replace(names, data=Data(batch_size=32, evaluation_batch_size=64))


def names_and_times() -> Experiment:
  """Returns names, dates and numbers, of Re-DocRED's documents too: `english/ner`."""
  names = minilm(
    NamedEntities,
    f"{DATA}/ner/{{0}}_timed.jsonl,{DATA}/ner/{{0}}_redocred.jsonl",
    test=f"{DATA}/ner/test_redocred.jsonl",
    labels=("NIL", "LOC", "MISC", "NUM", "ORG", "PER", "TIME"),
    words=64,
    span_words=10,
    skip_bad=True,
  )
  run = dataclasses.replace(names.run, epochs=4)
  return dataclasses.replace(names, running=Running(), run=run)


def qa() -> Experiment:
  """Returns answers to questions."""
  fields = {"words": 256, "question_words": 40, "stride": 128}
  asked = minilm(QuestionAnswering, f"{DATA}/qa/{{}}.json", dev=f"{DATA}/qa/test.json", **fields)
  return dataclasses.replace(asked, data=Data(16, 32, lengths=4))


def facts() -> Experiment:
  """Returns relations among all names: documents, their sentences, and copies that deny these."""
  kinds = tuple(" ".join(label.split()) for label in FACTS.split(";"))
  types = ("PER", "ORG", "LOC", "TIME", "NUM", "MISC")
  test = "datasets/redocred/test.jsonl"
  files = ",".join(TRAIN_FACTS).replace("train", "{0}")
  found = minilm(Facts, files, test=test, labels=kinds, types=types)
  return dataclasses.replace(
    found,
    optimizer=dataclasses.replace(found.optimizer, adapter=12),  # for the room of the box
    running=Running(),
    data=Data(batch_size=8, evaluation_batch_size=16, lengths=5),
    run=Run(epochs=7, start=found.run.start, evaluate_every=532, best_metric="f1"),
  )


def wnut17() -> Experiment:
  """Returns names of WNUT-17 by tags for words and a chain: the six types of tener.py's rows."""
  names = minilm(
    Tagging,
    "datasets/tener/wnut17/{}.conll",
    labels=("O", *(f"{part}-{kind}" for kind in WNUT17 for part in "BI")),
    words=128,
    context=False,
    crf=True,
  )
  run = Run(epochs=4, start=names.run.start, evaluate_every=106, best_metric="f1")
  optimizer = Optimizer(learning_rate=3e-4, average=0.99, bias_correction=True)
  return dataclasses.replace(names, optimizer=optimizer, run=run)


def reviews() -> Experiment:
  """Returns ratings of 1,000 reviews of fine food, five classes: the text alone."""
  rated = minilm(TextClassification, "datasets/fine_food/{}.ss", labels=tuple("12345"), words=192)
  return dataclasses.replace(
    rated,
    data=Data(batch_size=16, evaluation_batch_size=50, lengths=4),
    optimizer=Optimizer(learning_rate=2e-4, average=0.99, bias_correction=True),
    run=Run(epochs=5, start=rated.run.start, evaluate_every=44, best_metric="accuracy"),
  )


def with_attributes() -> Experiment:
  """Returns the ratings of reviews with the user and the product of each."""
  plain = reviews()
  attributes = Attributes(("user", "product"), layers=2)
  return dataclasses.replace(plain, task=dataclasses.replace(plain.task, attributes=attributes))


Config = Callable[[], Experiment]


def as_system(config: Config, system: type[System]) -> Config:
  """Returns what returns the experiment with MiniLM as another system."""

  def changed() -> Experiment:
    plain = config()
    sizes = start_sizes(type(plain.task), published("english"), system)
    return dataclasses.replace(plain, model=sizes)

  return changed


def on_mpnet(config: Config) -> Config:
  """Returns what returns the experiment with MPNet in the place of MiniLM: `english-base`."""

  def changed() -> Experiment:
    plain, start = config(), published("mpnet")
    return dataclasses.replace(
      plain,
      model=start_sizes(type(plain.task), start),
      task=dataclasses.replace(plain.task, text=str(start)),
      running=Running(),
      optimizer=dataclasses.replace(plain.optimizer, learning_rate=1e-3, adapter=8),
      run=dataclasses.replace(plain.run, start=str(start)),
    )

  return changed


def fresh(config: Config, model: System, words: int | None = None) -> Config:
  """Returns what returns the experiment with a small system from nothing, and its vocabulary."""
  text = f"datasets/tokenizers/{'roberta' if model is ROBERTA else 'sentencepiece'}"

  def changed() -> Experiment:
    plain = config()
    return dataclasses.replace(
      plain,
      model=model,
      task=dataclasses.replace(plain.task, text=text, words=words or plain.task.words),
      running=Running(),
      optimizer=Optimizer(learning_rate=1e-3, average=0.99, bias_correction=True),
      run=Run(),
    )

  return changed


def english(table: str, config: Config, method: str, *changes: str) -> Row:
  """Returns a row of a table of tests."""
  return row(config, *changes, table=table, method=method, split="test")


LUKE, ERNIE = "MiniLM as LUKE", "ERNIE of Tsinghua from MiniLM"
NO_ROBERTA, NO_XLM_R = "RoBERTa, not pretrained", "XLM-R, not pretrained"
SAMPLE = "data/english/sample/relations"
NAMES, REVIEWS = "TENER: WNUT-17", "Reviews of fine food"
BY_F1 = ("run.epochs=20", "run.evaluate_every=212", "run.best_metric=f1")
BY_ACCURACY = ("run.epochs=10", "run.evaluate_every=88", "run.best_metric=accuracy")

ROWS = {
  "facts-box": english("English: facts", facts, "MiniLM"),
  # With phrases and what denies them; data/redocred/README.md says what it did.
  "facts-phrases": english(
    "English: facts",
    facts,
    "MiniLM, phrases",
    f"task.train={','.join(TRAIN_FACTS + PHRASES)}",
    *("run.epochs=6", "run.evaluate_every=null", "run.best_metric=null"),
  ),
  # By the clock: documents twice, sentences, denied ones and some phrases. Not in the box yet.
  "facts-base": english(
    "English: facts",
    on_mpnet(facts),
    "MPNet, some phrases",
    "task.train=datasets/redocred/train_mixed.jsonl",
    "optimizer.adapter=12",
    *("run.minutes=75", "run.evaluate_every=null", "run.best_metric=null"),
  ),
  "relations-bert": english("English: relations", relations, "MiniLM"),
  "relations-luke": english("English: relations", as_system(relations, LukeConfig), LUKE),
  "relations-roberta": english(  # by bytes, more pieces
    "English: relations", fresh(relations, ROBERTA, 96), NO_ROBERTA, "run.epochs=10"
  ),
  "relations-xlm-r": english(  # of pieces of a vocabulary of 1,000
    "English: relations", fresh(relations, XLM_R, 192), NO_XLM_R, "run.epochs=10"
  ),
  # On the 2,400 sentences that the repository has, by the clock: some 75 steps on two cores.
  "relations-demo": english(
    "English: relations",
    relations,
    "MiniLM, by the clock",
    *(f"task.{split}={SAMPLE}/{split}.jsonl" for split in ("train", "dev", "test")),
    "running.dtype=float32",  # a CPU without bfloat16 of its own takes nearly twice as long with it
    "data.lengths=2",  # each has a program of its own to compile
    *("run.epochs=1", "run.minutes=2.5", "run.log_every=5"),
  ),
  "semeval-bert": english("English: semeval", semeval, "MiniLM", "run.epochs=5"),
  "typing-bert": english("English: typing", typing, "MiniLM", "run.epochs=1"),
  "typing-luke": english("English: typing", as_system(typing, LukeConfig), LUKE, "run.epochs=1"),
  "typing-ernie": english(
    "English: typing", as_system(typing, ErnieThuConfig), ERNIE, "run.epochs=1"
  ),
  "typing-base": english("English: typing", on_mpnet(typing), "MPNet", "run.epochs=1"),
  "typing-roberta": english("English: typing", fresh(typing, ROBERTA), NO_ROBERTA, "run.epochs=5"),
  "typing-xlm-r": english("English: typing", fresh(typing, XLM_R, 256), NO_XLM_R, "run.epochs=5"),
  "ner-box": english("English: ner, dates too", names_and_times, "MiniLM"),
  "ner-base": english("English: ner, dates too", on_mpnet(names_and_times), "MPNet"),
  "ner-bert": english("English: ner", ner, "MiniLM"),
  "ner-luke": english("English: ner", as_system(ner, LukeConfig), LUKE),
  "qa-bert": english("English: qa", qa, "MiniLM"),
  # Entities are the names that english/ner finds: python -m data.english.named
  "qa-luke": english(
    "English: qa",
    as_system(qa, LukeConfig),
    LUKE,
    f"task.train={DATA}/qa/named_train.jsonl",
    *(f"task.{split}={DATA}/qa/named_test.jsonl" for split in ("dev", "test")),
    "task.entities=48",
  ),
  "qa-ernie": english("English: qa", as_system(qa, ErnieThuConfig), ERNIE),
  "qa-roberta": english("English: qa", fresh(qa, ROBERTA), NO_ROBERTA, "run.epochs=3"),
  "qa-xlm-r": english("English: qa", fresh(qa, XLM_R), NO_XLM_R, "run.epochs=3"),
  # With questions that their passage does not answer: data.english.unanswerable
  "qa-box": english(
    "English: qa and none",
    qa,
    "MiniLM",
    *(f"task.{split}={DATA}/qa/all_{split}.json" for split in ("train", "dev", "test")),
    "task.unanswerable=true",
  ),
  # `english/qa`, which goes on from that with harder ones, by the clock: data.english.harder
  "qa-harder": english(
    "English: qa and none",
    qa,
    "MiniLM, harder questions",
    f"task.train={DATA}/qa/harder_train.json",
    *(f"task.{split}={DATA}/qa/all_{split}.json" for split in ("dev", "test")),
    "task.unanswerable=true",
    "running.dtype=float32",
    "optimizer.learning_rate=0.001",
    *("run.start=results/english/qa-box/seed-1", "run.epochs=1", "run.minutes=22"),
  ),
  # `english-base/qa`, by the clock, with a third of the made questions.
  "qa-base": english(
    "English: qa and none",
    on_mpnet(qa),
    "MPNet, mixed questions",
    f"task.train={DATA}/qa/mixed_train.json",
    *(f"task.{split}={DATA}/qa/all_{split}.json" for split in ("dev", "test")),
    "task.unanswerable=true",
    *("run.minutes=80", "run.evaluate_every=null", "run.best_metric=null"),
  ),
  "wnut17-bert": english(NAMES, wnut17, "BERT (MiniLM)"),
  "wnut17-luke": english(NAMES, as_system(wnut17, LukeConfig), "LUKE from MiniLM"),
  "wnut17-ernie": english(NAMES, as_system(wnut17, ErnieThuConfig), ERNIE),
  "wnut17-roberta": english(NAMES, fresh(wnut17, ROBERTA), NO_ROBERTA, *BY_F1),
  "wnut17-xlm-r": english(NAMES, fresh(wnut17, XLM_R, 192), NO_XLM_R, *BY_F1),
  "reviews-bert": english(REVIEWS, reviews, "BERT (MiniLM)"),
  "reviews-luke": english(REVIEWS, as_system(reviews, LukeConfig), "LUKE from MiniLM"),
  "reviews-ernie": english(REVIEWS, as_system(reviews, ErnieThuConfig), ERNIE),
  "reviews-ma-bert": english(REVIEWS, with_attributes, "MA-BERT on MiniLM"),
  "reviews-ma-luke": english(REVIEWS, as_system(with_attributes, LukeConfig), "MA-BERT on LUKE"),
  "reviews-ma-ernie": english(
    REVIEWS, as_system(with_attributes, ErnieThuConfig), "MA-BERT on ERNIE of Tsinghua"
  ),
  "reviews-roberta": english(REVIEWS, fresh(reviews, ROBERTA), NO_ROBERTA, *BY_ACCURACY),
  "reviews-xlm-r": english(REVIEWS, fresh(reviews, XLM_R), NO_XLM_R, *BY_ACCURACY),
}
