"""The stages from a dump to pretraining records, and the inputs of each."""

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

from luke_jax.errors import InputError, check_whole
from luke_jax.files import Path, read_json, sha256, write_json
from luke_jax.files.locks import locked
from luke_jax.pipeline.metadata import tokenizer_hash
from luke_jax.text import load_tokenizer
from luke_jax.text.rows import whole_number
from luke_jax.wiki.read.dump import Site
from luke_jax.wiki.read.texts import text_files
from luke_jax.wiki.stages.packing import SPECIAL_WORDS, MakeRecords
from luke_jax.wiki.stages.page_stage import MakeTitles, Shards, shards_of
from luke_jax.wiki.stages.progress import StageProgress
from luke_jax.wiki.stages.shuffle_stage import Scatter, Shuffle
from luke_jax.wiki.stages.sources import BuildSource, Settings, source_of
from luke_jax.wiki.stages.stage import MANIFEST, Done, Engine, Stage, discard, finished
from luke_jax.wiki.stages.vocabulary_stage import SPECIAL, VOCABULARY, CountLinks, MakeVocabulary

StageName = Literal["pages", "titles", "counts", "vocabulary", "records", "pretraining"]
STAGES: tuple[StageName, ...] = get_args(StageName)
RESULT: StageName = "pretraining"
_SCATTERED = "scattered"
_HASHES = "dumps.json"


@dataclasses.dataclass(frozen=True)
class BuiltStages:
  """A finished build: its folder and each stage by name."""

  folder: Path
  stages: Mapping[str, Done]


def build(
  settings: Settings, folder: Path, engine: Engine, *, until: StageName = RESULT
) -> BuiltStages:
  """Builds the stages up to `until` that are missing in the folder or out of date."""
  folder = folder.resolve()
  source, tokenizer = _checked(settings, folder)
  _check_wiki(folder, source.site)
  with locked(folder), StageProgress() as progress:
    hashes = _hashes(settings.dumps, folder, progress)
    plan = _Plan(settings, folder, source, tokenizer)
    stages: dict[str, Done] = {}
    for stage_of in (
      *source.stages(hashes),
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
  return BuiltStages(folder, stages)


@dataclasses.dataclass(frozen=True)
class _Plan:
  """The stages of a build, each of which needs those before it finished."""

  settings: Settings
  folder: Path
  source: BuildSource
  tokenizer: str

  def titles(self, done: Mapping[str, Done]) -> Stage:
    pages = done["pages"].counts
    if not pages.get("characters"):
      raise InputError(
        f"{self.settings.dumps[0]}: {pages['pages']} pages and none with text; expected"
        f" {self.source.expected}"
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
      language=self.source.site.language,
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
      language=self.source.site.language,
      limits=self.settings.limits,
    )
    limits: dict[str, Any] = dataclasses.asdict(work.limits)
    limits["unknown_entities"] = work.limits.unknown_entities == "keep"  # as manifests have it
    made_of = _keys(done, "pages", "titles", "vocabulary")
    made_of |= {"tokenizer": self.tokenizer, "limits": limits}
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
      language=self.source.site.language,
    )
    made_of = {"seed": self.settings.seed, "per_file": work.per_file}
    return Stage(work.folder, work.files + 1, work, _keys(done, "records", "vocabulary") | made_of)

  def _shards(self, done: Mapping[str, Done]) -> Shards:
    return shards_of(self.folder / "pages", done["pages"])


def _keys(done: Mapping[str, Done], *names: str) -> dict[str, Any]:
  return {name: done[name].key for name in names}


def _checked(settings: Settings, folder: Path) -> tuple[BuildSource, str]:
  """Returns the source and the tokenizer's hash; raises InputError for impossible settings."""
  limits, selection = settings.limits, settings.selection
  for name, value, least in (
    ("--entities", selection.size, len(SPECIAL) + 1),
    ("--min-count", selection.min_count, 0),
    ("--seed", settings.seed, 0),
  ):
    check_whole(least, **{name: value})
  for name, value, least in (
    ("--max-entities", limits.max_entities, 1),
    ("--max-mention", limits.max_mention, 1),
    ("--min-sentence", limits.min_sentence, 1),
    ("--max-words", limits.max_words, SPECIAL_WORDS + max(limits.min_sentence, 3)),
  ):
    whole_number(name, value, least)
  if selection.allowed_only and not selection.allowed:
    raise InputError("--allowed-only: no --allowed titles; expected a file of them")
  source = source_of(settings, folder)
  tokenizer = load_tokenizer(settings.tokenizer)
  if settings.vocabulary and not settings.vocabulary.is_file():
    raise InputError(f"{settings.vocabulary}: no such file; expected an entity vocabulary")
  return source, tokenizer_hash(tokenizer)


def _check_wiki(folder: Path, site: Site) -> None:
  """Raises InputError for a folder with the pages of another wiki, which would be deleted."""
  try:
    other = read_json(folder / "pages" / MANIFEST)["made_of"]["site"]["database"]
  except (KeyError, TypeError):  # there is no build
    return
  if other and site.database and other != site.database:
    raise InputError(f"{folder}: a build of {other}; expected a folder of {site.database}'s own")


def _hashes(paths: Sequence[Path], folder: Path, progress: StageProgress) -> list[str]:
  """Returns the hashes of the sources; raises InputError for a file that is given twice."""
  hashes = [_hash_of(path, folder, progress) for path in paths]
  for place, path in enumerate(paths):
    first = hashes.index(hashes[place])
    if first != place:
      raise InputError(f"{path}: the same as {paths[first]}; expected every file once")
  return hashes


def _hash_of(path: Path, folder: Path, progress: StageProgress) -> str:
  """Returns the hash of a source's content; a file's is stored while its size and time stay."""
  if path.is_dir():
    digest = hashlib.sha256()
    with progress.step(f"hashing {path.name}"):
      for name in text_files(path):
        digest.update(f"{name}\0{sha256(path / name)}\n".encode(errors="surrogateescape"))
    return digest.hexdigest()
  stat = path.stat()
  state = [stat.st_size, stat.st_mtime_ns]
  hashes = read_json(folder / _HASHES) or {}
  place = str(path.resolve())
  if place not in hashes or hashes[place][:2] != state:
    with progress.step(f"hashing {path.name}"):
      hashes[place] = [*state, sha256(path)]
    write_json(folder / _HASHES, hashes)
  return hashes[place][2]
