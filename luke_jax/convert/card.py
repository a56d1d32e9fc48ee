"""Model cards: the recorded facts of a saved model, and what is read of them."""

import dataclasses
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from luke_jax.convert.parts import ModelParts
from luke_jax.errors import InputError
from luke_jax.files import Path, check_regular, packaged, write_text
from luke_jax.models.table import system_of

# In a model's config.json, under this project's name: the record of a run, and facts from the card
# of a model that others made.
OURS, RUN, ORIGIN = "luke_jax", "run", "origin"
CARD = "README.md"
MOST_LABELS = 50
NOT_RECORDED = "not recorded"
PARITY = "## Parity with PyTorch"
UNMEASURED = (
  "Not measured on these files: `luke-jax parity DIRECTORY --card` measures it and writes it here."
)
_FACTS = ("license", "language")

Record = Mapping[str, Any]  # of a run, as config.json keeps it


_USE = """\
In JAX:

```python
import luke_jax

model = luke_jax.load("DIRECTORY"{own})
```"""
_USE_ADAPTER = """\
An adapter: these files are what training changed in its backbone, {name}, whose weights have
SHA-256 `{sha256}`.

```python
import luke_jax

model = luke_jax.load("DIRECTORY", backbone="BACKBONE"{own})
```"""
_WHOLE = "In PyTorch: a whole model, which `luke-jax convert DIRECTORY WHOLE` writes."
_NO_WHOLE = "Not in PyTorch: it reads labels with its backbone, and is an adapter alone."
POOLING = Path("1_Pooling") / "config.json"  # of sentence-transformers
LIBRARY = "sentence-transformers"


def model_card(model: ModelParts, backbone: Mapping[str, str] | None = None) -> str:
  """Returns a README.md with the model's description, its recorded facts and how to load it.

  `backbone` is the name and the SHA-256 of an adapter's backbone.
  """
  record, own = _part(model, RUN), _own_system(model)
  given = {"own": f", system={own}" if own else ""}
  return packaged("convert/card.md").format(
    head=card_head(model, record, _base(model, record), adapter=backbone is not None),
    architecture=model.architecture,
    about=model.config.about,
    sizes=_sizes(model, record),
    use=_USE.format(**given) if backbone is None else _USE_ADAPTER.format(**backbone, **given),
    in_pytorch=_in_pytorch(model) if backbone is None else _of_adapter(model),
    training=_training(record) if record else f"How it was trained is {NOT_RECORDED}.",
    scores=_scores(record),
    parity_title=PARITY,
    parity=f"Not measured: {lacking}." if (lacking := _lacking(model)) else UNMEASURED,
    limits=_limits(model, record),
    licence=_licence(model, record),
  )


def with_record(model: ModelParts, record: Mapping[str, object], part: str = RUN) -> ModelParts:
  """Returns the model with a record of its origin, which is saved with it everywhere."""
  ours = model.rest.get(OURS)
  ours = {**(ours if isinstance(ours, dict) else {}), part: dict(record)}
  return dataclasses.replace(model, rest={**model.rest, OURS: ours})


def card_facts(directory: Path) -> dict[str, str]:
  """Returns licence and language from the card in a directory, if it names one of each."""
  lines = re.findall(r"^(\w+):\s*([\w.+-]+)\s*$", _head_of_card(directory), re.MULTILINE)
  return {name: value for name, value in lines if name in _FACTS and value != "unknown"}


def _head_of_card(directory: Path) -> str:
  """Returns the metadata above the card in a directory, "" where there is none to read."""
  check_regular(directory / CARD)
  try:
    text = (directory / CARD).read_text(encoding="utf-8")
  except (OSError, UnicodeDecodeError):
    return ""
  head = re.match(r"\s*---\n(.*?)\n---", text, re.DOTALL)
  return head[1] if head else ""


def write_parity(directory: Path, sentence: str) -> Path:
  """Writes a sentence on parity with PyTorch in the card of a directory."""
  path = directory / CARD
  try:
    text = path.read_text(encoding="utf-8")
  except (OSError, UnicodeDecodeError) as fault:
    raise InputError(f"{path}: {fault}; expected a model card of luke_jax") from None
  before, title, rest = text.partition(f"{PARITY}\n")
  if not title:
    raise InputError(f"{path}: no '{PARITY}'; expected a model card of luke_jax")
  _, next_title, after = rest.partition("\n## ")
  write_text(path, f"{before}{title}\n{sentence}\n{next_title}{after}")
  return path


def _part(model: ModelParts, name: str) -> Record:
  ours = model.rest.get(OURS)
  part = ours.get(name) if isinstance(ours, dict) else None
  # In the order of config.json, so that a copy has the same card.
  return json.loads(json.dumps(part, sort_keys=True)) if isinstance(part, dict) else {}


def _base(model: ModelParts, record: Record) -> Record:
  """Returns the recorded facts of the model that this one started from or is a copy of."""
  return record.get("start") or _part(model, ORIGIN)


def _of_adapter(model: ModelParts) -> str:
  head = model.network.head
  return _NO_WHOLE if head is not None and head.reads_start else _WHOLE


def _own_system(model: ModelParts) -> str:
  """Returns the name of the class of a system that is none of this package; "" for another."""
  system = type(model.config)
  return "" if system_of(system.model_types[0]) is system else system.__name__


def _lacking(model: ModelParts) -> str:
  """Returns why transformers has no class for a model's system; "" if it has one."""
  own = _own_system(model)
  return f"transformers has no {own}" if own else model.config.not_in_transformers


def _in_pytorch(model: ModelParts) -> str:
  """Returns how transformers loads the same files, as far as it can."""
  system = model.config
  if missing := _lacking(model):
    return f"In PyTorch: {missing}."
  name, title = model.architecture, "In PyTorch, from the same files:"
  top = model.network.head
  if top is not None and not top.in_transformers and top.kind not in system.head_classes:
    parts = ", ".join(part for part in model.params if part != system.name)
    name, head = f"{system.prefix}Model", f"the head (`{parts}`)"
    if model.kind == "crf":  # a classifier of words, which transformers has, and a chain
      name, head = f"{system.prefix}ForTokenClassification", "its chain (`crf`)"
    title = f"In PyTorch, from the same files, without {head}, which transformers lacks:"
  code = f'from transformers import {name}\n\nmodel = {name}.from_pretrained("DIRECTORY")'
  return f"{title}\n\n```python\n{code}\n```"


def _sizes(model: ModelParts, record: Mapping[str, object]) -> str:
  import jax

  config = model.config
  shown = ", ".join(model.labels[:MOST_LABELS])
  sizes = (config.num_hidden_layers, config.hidden_size, config.num_attention_heads)
  start = _base(model, record).get("name") or config.started_from
  nothing = "nothing: random parameters" if record.get("start", "") is None else NOT_RECORDED
  rows = [
    ("layers, width, heads", ", ".join(map(str, sizes))),
    ("words, entities", f"{config.vocab_size:,}, {model.backbone.entities:,}"),
    ("parameters", f"{sum(x.size for x in jax.tree.leaves(model.params)):,}"),
    ("started from", start or nothing),
  ]
  if shown and "classifier" in model.params:
    rows.append(("labels", shown + (" …" if len(model.labels) > MOST_LABELS else "")))
  return _table(("", ""), rows)


def _training(record: Record) -> str:
  """Returns the data, the duration, the machine and all settings."""
  data = [
    (x["split"], x["file"], f"{x['examples']:,}", f"`{x.get('sha256') or NOT_RECORDED}`")
    for x in record.get("data", ())
  ]
  versions = record.get("versions") or {}
  seconds = record.get("seconds")
  steps = f"{record['steps']:,}" if "steps" in record else NOT_RECORDED
  facts = [
    ("task", record["task"]),
    ("seed", record["seed"]),
    ("step of this checkpoint", f"{record['step']:,} of {steps}"),
    ("time of the run", f"{seconds:,.0f} s" if seconds is not None else NOT_RECORDED),
    ("finished", record.get("finished") or NOT_RECORDED),
    ("hardware", record.get("hardware") or NOT_RECORDED),
    ("versions", ", ".join(f"{k} {v}" for k, v in versions.items()) or NOT_RECORDED),
    ("revision of the code", record.get("revision") or NOT_RECORDED),
  ]
  settings = [(f"`{name}`", f"`{json.dumps(x)}`") for name, x in record["settings"].items()]
  columns = ("split", "data", "examples", "SHA-256")
  return "\n\n".join(
    [
      _table(columns, data) if data else f"The data is {NOT_RECORDED}.",
      _table(("", ""), facts),
      _table(("setting", "value"), settings),
    ]
  )


def _scores(record: Record) -> str:
  scores = {split: figures for split, figures in (record.get("scores") or {}).items() if figures}
  if not scores:
    return f"Scores of this model are {NOT_RECORDED}."
  names = list(dict.fromkeys(name for figures in scores.values() for name in figures))
  rows = [
    (split, *(_number(figures[name]) if name in figures else "" for name in names))
    for split, figures in scores.items()
  ]
  return _table(("split", *names), rows)


def _number(value: object) -> str:
  return f"{value:.4g}" if isinstance(value, float) else str(value)


def _limits(model: ModelParts, record: Record) -> str:
  scores = record.get("scores") or {}
  scored = [split for split in scores if scores[split]]
  sentences = []
  if scored:
    sentences.append(
      f"Scored on {' and '.join(scored)} of the data above and on nothing else: not on other"
      " kinds of text, and not on other languages."
    )
    sentences.append(
      "The scores are those of the run: a copy with another type of numbers or other entities"
      " was not scored anew."
    )
    if "dev" in scored and (best := record["settings"].get("run.best_metric")):
      sentences.append(f"Of the run's checkpoints this is the one with the best {best} on dev.")
  else:
    sentences.append("No evaluation is recorded, so nothing is known here of what it is good for.")
  ours: Any = model.rest.get(OURS) or {}
  unfitted = "calibration" not in ours and "threshold" not in ours.get("settings", {})
  if unfitted and ours.get("task") and len(model.labels) > 1:
    sentences.append(
      "Scores of its answers are as computed, not fitted to be shares of right ones:"
      " `luke-jax calibrate` does that."
    )
  sentences.append(
    "Not checked for bias, nor for facts that it learned and that are wrong or outdated."
  )
  if model.report.missing:
    sentences.append(f"Not trained, but initialised: {', '.join(model.report.missing)}.")
  return "\n".join(f"- {sentence}" for sentence in sentences)


def _licence(model: ModelParts, record: Mapping[str, object]) -> str:
  base = _base(model, record)
  name, licence = base.get("name"), base.get("license")
  of_base = f"That of {name}, by its card: {licence}." if licence else ""
  unknown = f"That of {name} is not known here." if name else "It is not known here."
  of_data = record.get("data_licence")  # what the box records
  told = f"it was trained on: {of_data}." if of_data else "it was trained on is not recorded."
  return f"{of_base or unknown}{f' That of the data {told}' if record else ''}"


def _table(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
  names = list(columns)
  lines = [names, ["---"] * len(names), *rows]
  cells = ([" ".join(str(x).replace("|", "\\|").split()) for x in line] for line in lines)
  return "\n".join(f"| {' | '.join(line)} |" for line in cells)


def card_head(model: ModelParts, record: Record, base: Record, *, adapter: bool = False) -> str:
  """Returns the metadata of a model; `base` are facts of the model that it started from."""
  languages = {x.get("language") for x in record.get("data", ())} | {base.get("language")}
  codes = sorted(language for language in languages if language)
  task = model.network.head.hub_task if model.network.head else ""
  tags = [model.config.name, "luke_jax", *([task] if task else [])]
  library = "luke_jax" if adapter or _lacking(model) else "transformers"
  metadata = {
    "library_name": library,
    "pipeline_tag": task,
    "tags": tags,
    "language": codes,
    "license": base.get("license", "unknown"),
  }
  scores = record.get("scores") or {}
  if scores and task:
    metadata["metrics"] = list(dict.fromkeys(name for x in scores.values() for name in x))
    results = [_result(task, split, record) for split in scores]
    metadata["model-index"] = [{"name": model.architecture, "results": results}]
  given = {name: value for name, value in metadata.items() if value}
  return f"---\n{yaml.safe_dump(given, sort_keys=False)}---"


def _result(task: str, split: str, record: Record) -> dict[str, object]:
  files = {x["split"]: x["file"] for x in record.get("data", ())}
  name = files.get(split) or split
  metrics = [{"type": metric, "value": value} for metric, value in record["scores"][split].items()]
  dataset = {"name": name, "type": name, "split": split}
  return {"task": {"type": task}, "dataset": dataset, "metrics": metrics}


def pools_means(directory: Path) -> bool:
  """Returns true if a model's files say so: that of its pooling, else the head of its card."""
  check_regular(directory / POOLING)
  head = _head_of_card(directory)
  try:
    pooling = json.loads((directory / POOLING).read_text(encoding="utf-8"))
    return pooling.get("pooling_mode_mean_tokens") is True
  except (OSError, ValueError, AttributeError):
    return re.search(rf"^library_name: {LIBRARY}\s*$", head, re.MULTILINE) is not None
