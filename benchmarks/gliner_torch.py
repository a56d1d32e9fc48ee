"""Benchmark of GLiNER's models, texts a second, beside the package `gliner` on PyTorch.

Models of random weights and published sizes, written by that package: `pip install gliner`. The
texts are CrossNER's 120 test sentences in data/english/sample, the labels twenty kinds. Labels of a
bi-encoder are encoded once on both sides. Names are those of a score that few reach.
"""

import contextlib
import dataclasses
import io
import tempfile
from collections.abc import Callable
from typing import Any

import jax
from rich.table import Table

import luke_jax
from benchmarks.figures import print_figures
from benchmarks.timing import Timing, alternate, imported
from luke_jax.cli.process import stderr_console
from luke_jax.convert.published import published
from luke_jax.errors import InputError
from luke_jax.files import Path, check_place, cores_and_processor
from luke_jax.formats.files import Faults
from luke_jax.tasks.ner.task import NamedEntities

TEXTS = "data/english/sample/ner/test.jsonl"
LABELS = """person, city, country, river, ship, company, political party, university, sports team,
book, film, song, award, war, animal, food, disease, software, programming language, year"""
# Of the encoder of texts: ModernBERT-base and DeBERTa-v3-small.
BASE = {"hidden_size": 768, "num_attention_heads": 12}
DEBERTA = BASE | {
  "model_type": "deberta-v2",
  "num_hidden_layers": 6,
  "intermediate_size": 3072,
  "relative_attention": True,
  "position_buckets": 256,
  "norm_rel_ebd": "layer_norm",
  "share_att_key": True,
  "pos_att_type": ["p2c", "c2p"],
  "position_biased_input": False,
  "type_vocab_size": 0,
}
MODERN = BASE | {"model_type": "modernbert", "num_hidden_layers": 22, "intermediate_size": 1152}
OF_LABELS = {
  "model_type": "bert",
  "hidden_size": 384,
  "num_hidden_layers": 12,
  "num_attention_heads": 12,
  "intermediate_size": 1536,
}
MODELS = {"bi-base": ("BiEncoderSpan", MODERN), "uni-small": ("UniEncoderSpan", DEBERTA)}
LEAST, ALONE = 0.9, 20  # score of a name, and the texts that are read one by one


@dataclasses.dataclass(frozen=True)
class GlinerTimes:
  """Measurements of one run."""

  machine: str
  versions: dict[str, str]
  model: str
  together: int  # texts of the second timing, all at once
  timings: dict[str, Timing]  # one text after the other, and many together


def written(name: str, folder: str) -> Any:
  """Returns a model of the package with random weights, after it is saved."""
  gliner, transformers = imported("gliner", "transformers")
  kind, sizes = MODELS[name]
  read = transformers.AutoTokenizer.from_pretrained
  words = read(str(published("english")))
  shared = {"vocab_size": len(words), "pad_token_id": words.pad_token_id}
  config = {"encoder_config": sizes | shared, "model_name": "none/such", "hidden_size": 512}
  options = {}
  if kind.startswith("Bi"):
    options["labels_tokenizer"] = read(str(published("english")))
    config |= {"labels_encoder": "none/such", "labels_encoder_config": OF_LABELS | shared}
  made = getattr(gliner.config, f"{kind}Config")(**config)
  of_class = getattr(gliner.model, f"{kind}GLiNER")
  model = of_class(made, tokenizer=words, backbone_from_pretrained=False, **options)
  of_class._resize_token_embeddings(model, made, words)
  model.eval()
  model.save_pretrained(folder, safe_serialization=True)
  return model


def timed(name: str, together: int, rounds: int) -> dict[str, Timing]:
  """Returns the times of both sides in turn."""
  examples = NamedEntities(skip_bad=True).read(Path(TEXTS), Faults(skip=True))
  texts, labels = [x.text for x in examples][:together], LABELS.replace("\n", " ").split(", ")
  with tempfile.TemporaryDirectory() as folder:
    with contextlib.redirect_stdout(io.StringIO()):
      theirs = written(name, folder)
    ours = luke_jax.load(folder)
    vectors = theirs.encode_labels(labels) if MODELS[name][0].startswith("Bi") else None

    def their_names(texts: list[str]) -> Any:
      if vectors is None:
        return theirs.inference(texts, labels, threshold=LEAST)
      return theirs.batch_predict_with_embeds(texts, vectors, labels, threshold=LEAST)

    def our_names(texts: list[str]) -> Any:
      return ours.predict(texts, labels=labels, threshold=LEAST)

    def one_by_one(names: Callable[[list[str]], Any]) -> Callable[[], object]:
      return lambda: [names([text]) for text in texts[:ALONE]]

    ours_alone = one_by_one(our_names)
    for _ in range(3):  # programs for new shapes are compiled where that pays
      our_names(texts), ours_alone()
    return {
      "one": alternate(ours_alone, one_by_one(their_names), rounds),
      "many": alternate(lambda: our_names(texts), lambda: their_names(texts), rounds),
    }


def main(
  *, model: str = "bi-base", texts: int = 64, rounds: int = 3, output: Path | None = None
) -> None:
  """Times names of twenty typed kinds beside the package `gliner`, in turn.

      python -m benchmarks gliner_torch --model uni-small

  Args:
    model: bi-base or uni-small.
    texts: That are read together; twenty are also read one by one.
    rounds: Of each side.
    output: File for the figures as JSON.
  """
  if model not in MODELS:
    raise InputError(f"model: {model}; expected one of {', '.join(MODELS)}")
  if output:
    check_place(output)
  torch, gliner = imported("torch", "gliner")
  with stderr_console().status(f"timing {model}"):
    timings = timed(model, texts, rounds)
  versions = {"jax": jax.__version__, "torch": torch.__version__, "gliner": gliner.__version__}
  result = GlinerTimes(cores_and_processor(), versions, model, texts, timings)
  table = Table("texts", "luke_jax, texts/s", "gliner, texts/s", "ratio", title=model)
  summary: dict[str, Any] = {}
  for name, timing in timings.items():
    number = ALONE if name == "one" else texts
    rates = [number / timing.median(side) for side in ("ours", "theirs")]
    shown = "one by one" if name == "one" else f"{texts} together"
    table.add_row(shown, *(f"{x:.1f}" for x in rates), f"{timing.ratio:.2f}")
    summary[f"{name}/ratio"] = round(timing.ratio, 3)
  about = ", ".join([result.machine, *(f"{name} {x}" for name, x in versions.items())])
  print_figures(result, summary, [table], about, output=output)
