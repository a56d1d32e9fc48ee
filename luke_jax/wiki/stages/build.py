"""The stages from a dump to pretraining records, and the inputs of each."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

from luke_jax.errors import InputError
from luke_jax.files import Path, read_json, sha256, write_json
from luke_jax.files.locks import locked
from luke_jax.pipeline.metadata import tokenizer_hash
from luke_jax.text import load_tokenizer
from luke_jax.text.rows import whole_number
from luke_jax.wiki.read.dump import Site, read_site
from luke_jax.wiki.read.dump_files import KINDS
from luke_jax.wiki.read.dump_parts import DumpPart, split_dumps
from luke_jax.wiki.stages.packing import SPECIAL_WORDS, Limits
from luke_jax.wiki.stages.page_stage import MakePages, Shards, shards_of, site_facts
from luke_jax.wiki.stages.progress import StageProgress
from luke_jax.wiki.stages.record_stage import MakeRecords
from luke_jax.wiki.stages.scatter_stage import Scatter
from luke_jax.wiki.stages.shuffle_stage import RECORDS_PER_FILE, Shuffle
from luke_jax.wiki.stages.stage import MANIFEST, Done, Engine, Stage, discard, finished
from luke_jax.wiki.stages.title_stage import MakeTitles
from luke_jax.wiki.stages.vocabulary_stage import (
  SPECIAL,
  VOCABULARY,
  CountLinks,
  MakeVocabulary,
  Selection,
)

StageName = Literal["pages", "titles", "counts", "vocabulary", "records", "pretraining"]
STAGES: tuple[StageName, ...] = get_args(StageName)
RESULT: StageName = "pretraining"
_HASHES, _SCATTERED = "dumps.json", "scattered"
# A large part has enough pages to outweigh the start of a shard, small parts occupy all workers.
_LEAST_PART, _MOST_PART, _PARTS = 2**17, 2**25, 16


@dataclasses.dataclass(frozen=True)
class Settings:
  """Inputs and options of a build.

  `vocabulary` is a file of existing entities, such as those of several languages; without it the
  most linked pages become entities. `part_size` is the number of bytes that a shard reads.
  """

  dumps: tuple[Path, ...]
  tokenizer: Path
  language: str | None = None
  sections: bool = False
  skip_bad_pages: bool = False
  selection: Selection = dataclasses.field(default_factory=Selection)
  vocabulary: Path | None = None
  limits: Limits = dataclasses.field(default_factory=Limits)
  seed: int = 0
  part_size: int | None = None
  records_per_file: int = RECORDS_PER_FILE


@dataclasses.dataclass(frozen=True)
class Result:
  """A finished build: its folder and each stage by name."""

  folder: Path
  stages: Mapping[str, Done]


def build(settings: Settings, folder: Path, engine: Engine, *, until: StageName = RESULT) -> Result:
  """Builds the stages up to `until` that are missing in the folder or out of date."""
  site, tokenizer = _checked(settings)
  folder = folder.resolve()
  _check_wiki(folder, site)
  with locked(folder), StageProgress() as progress:
    hashes = [_hash_of(dump, folder, progress) for dump in settings.dumps]
    _check_different(settings.dumps, hashes)
    plan = _Plan(settings, folder, site, tokenizer, hashes)
    stages: dict[str, Done] = {}
    for stage_of in (
      plan.pages,
      plan.titles,
      plan.counts,
      plan.vocabulary,
      plan.records,
      plan.pretraining,
    ):
      stage = stage_of(stages)
      if stage.name == RESULT and not finished(stage):
        progress.finish(plan.scattered(stages), engine)
      stages[stage.name] = progress.finish(stage, engine)
      if stage.name == until:
        break
    if RESULT in stages:
      discard(folder / _SCATTERED)
  return Result(folder, stages)


@dataclasses.dataclass(frozen=True)
class _Plan:
  """The stages of a build, each of which needs those before it finished."""

  settings: Settings
  folder: Path
  site: Site
  tokenizer: str
  hashes: Sequence[str]  # of the dumps

  def pages(self, done: Mapping[str, Done]) -> Stage:
    parts = tuple(_parts(self.settings))
    sections, skip_bad = self.settings.sections, self.settings.skip_bad_pages
    work = MakePages(self.folder / "pages", parts, self.site, sections, skip_bad)
    made_of = {
      "dumps": list(self.hashes),
      "pieces": [(part.start, part.stop) for part in parts],
      "sections": sections,
      "site": site_facts(self.site),
    }
    if skip_bad:
      made_of["skip_bad_pages"] = True
    # Titles were longer in version 1, and version 2 had no facts, headings and revisions.
    return Stage(work.folder, len(parts), work, made_of, version=3)

  def titles(self, done: Mapping[str, Done]) -> Stage:
    pages = done["pages"].counts
    if not pages.get("characters"):
      raise InputError(
        f"{self.settings.dumps[0]}: {pages['pages']} pages and none with text; expected a dump of"
        " pages-articles, not of titles or of pages without text (stub)"
      )
    work = MakeTitles(self.folder / "titles", self._shards(done))
    return Stage(work.folder, 1, work, _keys(done, "pages"))

  def counts(self, done: Mapping[str, Done]) -> Stage:
    shards = self._shards(done)
    work = CountLinks(self.folder / "counts", shards, self.folder / "titles")
    return Stage(work.folder, len(shards), work, _keys(done, "pages", "titles"))

  def vocabulary(self, done: Mapping[str, Done]) -> Stage:
    selection, existing = self.settings.selection, self.settings.vocabulary
    work = MakeVocabulary(
      folder=self.folder / "vocabulary",
      counts=self.folder / "counts",
      shards=len(done["counts"].shards),
      titles=self.folder / "titles",
      selection=selection,
      existing=existing,
      language=self.site.language,
    )
    if existing:
      made_of = {"given": sha256(existing)}
    else:
      made_of = {"selection": dataclasses.asdict(selection)}
    return Stage(work.folder, 1, work, _keys(done, "counts") | made_of)

  def records(self, done: Mapping[str, Done]) -> Stage:
    shards = self._shards(done)
    work = MakeRecords(
      folder=self.folder / "records",
      shards=shards,
      titles=self.folder / "titles",
      vocabulary=self.folder / "vocabulary",
      tokenizer=self.settings.tokenizer,
      key=f"{self.tokenizer} {done['titles'].key} {done['vocabulary'].key}",
      language=self.site.language,
      limits=self.settings.limits,
    )
    made_of = _keys(done, "pages", "titles", "vocabulary") | {
      "tokenizer": self.tokenizer,
      "limits": dataclasses.asdict(self.settings.limits),
    }
    # Version 1 split long paragraphs into sentences at once, not window by window; version 2 had
    # longer windows where every fourth character is a sign.
    return Stage(work.folder, len(shards), work, made_of, version=3)

  def scattered(self, done: Mapping[str, Done]) -> Stage:
    work = Scatter(
      folder=self.folder / _SCATTERED,
      source=self.folder / "records",
      sizes=tuple(counts["records"] for counts in done["records"].shards),
      per_file=self.settings.records_per_file,
      seed=self.settings.seed,
    )
    made_of = {"seed": work.seed, "per_file": work.per_file}
    return Stage(work.folder, work.shards, work, _keys(done, "records") | made_of)

  def pretraining(self, done: Mapping[str, Done]) -> Stage:
    records = done["records"].counts["records"]
    if not records:
      raise InputError(
        f"{self.folder / 'records'}: no record, for no page has a sentence with a link that is"
        " kept; expected one or more"
      )
    work = Shuffle(
      folder=self.folder / RESULT,
      scattered=self.folder / _SCATTERED,
      records=records,
      per_file=self.settings.records_per_file,
      tokenizer=self.settings.tokenizer,
      vocabulary=self.folder / "vocabulary" / VOCABULARY,
      limits=self.settings.limits,
      language=self.site.language,
    )
    made_of = {"seed": self.settings.seed, "per_file": work.per_file}
    return Stage(work.folder, work.files + 1, work, _keys(done, "records", "vocabulary") | made_of)

  def _shards(self, done: Mapping[str, Done]) -> Shards:
    return shards_of(self.folder / "pages", done["pages"])


def _keys(done: Mapping[str, Done], *names: str) -> dict[str, Any]:
  return {name: done[name].key for name in names}


def _checked(settings: Settings) -> tuple[Site, str]:
  """Returns the dump's site and the tokenizer's hash; raises InputError for impossible settings."""
  limits, selection = settings.limits, settings.selection
  for name, value, least in (
    ("--entities", selection.size, len(SPECIAL) + 1),
    ("--min-count", selection.min_count, 0),
    ("--seed", settings.seed, 0),
  ):
    if value < least:
      raise InputError(f"{name}: {value}; expected a whole number from {least}")
  for name, value, least in (
    ("--max-entities", limits.max_entities, 1),
    ("--max-mention", limits.max_mention, 1),
    ("--min-sentence", limits.min_sentence, 1),
    ("--max-words", limits.max_words, SPECIAL_WORDS + max(limits.min_sentence, 3)),
  ):
    whole_number(name, value, least)
  if selection.allowed_only and not selection.allowed:
    raise InputError("--allowed-only: no --allowed titles; expected a file of them")
  site = _site(settings.dumps, settings.language)
  tokenizer = load_tokenizer(settings.tokenizer)
  if settings.vocabulary and not settings.vocabulary.is_file():
    raise InputError(f"{settings.vocabulary}: no such file; expected an entity vocabulary")
  return site, tokenizer_hash(tokenizer)


def _site(dumps: Sequence[Path], language: str | None) -> Site:
  if not dumps:
    raise InputError("no dump; expected one or more files of a wiki's pages")
  for dump in dumps:
    if dump.is_dir():
      raise InputError(f"{dump}: a folder; expected a file, or several by name: {dump}/*.bz2")
    if not dump.is_file():
      raise InputError(f"{dump}: no such file; expected a dump of a wiki's pages, {KINDS}")
  first, *others = [read_site(dump) for dump in dumps]
  for dump, other in zip(dumps[1:], others, strict=True):
    if other.database != first.database:
      raise InputError(
        f"{dump}: a dump of {other.database}; expected {first.database} as in {dumps[0]}"
      )
  # Old dumps have no name. A wiktionary would be read by mistake, a wiki of one's own on purpose.
  if first.database and not first.database.endswith("wiki") and language is None:
    raise InputError(
      f"{dumps[0]}: a dump of {first.database}; expected one of a Wikipedia, or --language for any"
      " other wiki"
    )
  if language is not None and language != first.language:
    raise InputError(
      f"{dumps[0]}: a dump of {first.database} in {first.language!r}; expected --language"
      f" {first.language}, not {language}"
    )
  return first


def _check_wiki(folder: Path, site: Site) -> None:
  """Raises InputError for a folder with the pages of another wiki, which would be deleted."""
  try:
    other = read_json(folder / "pages" / MANIFEST)["made_of"]["site"]["database"]
  except (KeyError, TypeError):  # there is no build
    return
  if other and site.database and other != site.database:
    raise InputError(f"{folder}: a build of {other}; expected a folder of {site.database}'s own")


def _check_different(dumps: Sequence[Path], hashes: Sequence[str]) -> None:
  for place, dump in enumerate(dumps):
    first = hashes.index(hashes[place])
    if first != place:
      raise InputError(f"{dump}: the same as {dumps[first]}; expected every file once")


def _parts(settings: Settings) -> list[DumpPart]:
  total = sum(dump.stat().st_size for dump in settings.dumps)
  size = settings.part_size or min(max(total // _PARTS, _LEAST_PART), _MOST_PART)
  return split_dumps(settings.dumps, size)


def _hash_of(dump: Path, folder: Path, progress: StageProgress) -> str:
  """Returns the hash of a dump's content, stored for as long as its size and time are the same."""
  stat = dump.stat()
  state = [stat.st_size, stat.st_mtime_ns]
  hashes = read_json(folder / _HASHES) or {}
  place = str(dump.resolve())
  if place not in hashes or hashes[place][:2] != state:
    with progress.step(f"hashing {dump.name}"):
      hashes[place] = [*state, sha256(dump)]
    write_json(folder / _HASHES, hashes)
  return hashes[place][2]
