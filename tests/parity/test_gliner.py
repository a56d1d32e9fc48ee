"""GLiNER's models against the package `gliner`: logits, names and files.

It asks for an older transformers than the extra `parity` has, and runs with that too:
`pip install --no-deps gliner==0.2.29`. Without it these tests are skipped.
"""

import json
import random
import warnings

import numpy as np
import pytest

import luke_jax

gliner = pytest.importorskip("gliner")

pytestmark = [
  pytest.mark.parity,
  pytest.mark.filterwarnings("ignore::DeprecationWarning"),
  pytest.mark.filterwarnings("ignore::FutureWarning"),
  pytest.mark.filterwarnings("ignore::UserWarning"),
]
TEXT = """Ana Lima sailed the old ship Vega-2 from Porto to New York in 1912 , and never came back .
The prize of the year went to Dr. O'Neil , who wrote a song about rivers ; it's well_known !
award person place music group politician (born) naïve Zürich 北京 $5 e-mail"""
WORDS = TEXT.split()
LABELS = ["award", "person", "place", "ship", "music group"]
SIZES = {
  "hidden_size": 24,
  "num_hidden_layers": 3,
  "num_attention_heads": 2,
  "intermediate_size": 40,
}
MORE = {
  "bert": {"max_position_embeddings": 512},
  "modernbert": {"local_attention": 8, "pad_token_id": 0, "max_position_embeddings": 1024},
  "deberta-v2": {
    "relative_attention": True,
    "position_buckets": 16,
    "norm_rel_ebd": "layer_norm",
    "share_att_key": True,
    "pos_att_type": ["p2c", "c2p"],
    "position_biased_input": False,
    "type_vocab_size": 0,
    "max_position_embeddings": 512,
  },
}
HOSTILE = (
  "abcXYZéßİıŉﬁⅧ１²½🙂👩‍👩‍👧\u200b\u200d\u0301\u00ad\ufeff\x00\x07 \t\n\u3000\u00a0北京ハンกาن‏"
  "«»—…'\"-_.,;:!?()[]{}<>/\\|@#$%^&*+=~`0123456789ÅΑΒ"
)
OTHERS = {
  "roberta": {},
  "distilbert": {"dim": 24, "n_layers": 3, "n_heads": 2, "hidden_dim": 40},
  "electra": {"embedding_size": 10},
  "albert": {"embedding_size": 10, "num_hidden_groups": 1},
}


def tokenizer(kind):
  """A small fast tokenizer of the kind that models of a type have."""
  import tokenizers as t
  import transformers

  if kind == "bert" or kind in OTHERS:
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    library = t.Tokenizer(t.models.WordPiece(unk_token="[UNK]"))
    library.normalizer = t.normalizers.BertNormalizer()
    library.pre_tokenizer = t.pre_tokenizers.BertPreTokenizer()
    library.decoder = t.decoders.WordPiece()
    trainer = t.trainers.WordPieceTrainer(vocab_size=160, special_tokens=names)
  elif kind == "modernbert":
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    library = t.Tokenizer(t.models.BPE())
    library.pre_tokenizer = t.pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.decoder = t.decoders.ByteLevel()
    alphabet = t.pre_tokenizers.ByteLevel.alphabet()
    trainer = t.trainers.BpeTrainer(vocab_size=330, special_tokens=names, initial_alphabet=alphabet)
  else:
    names = ["[PAD]", "[CLS]", "[SEP]", "[UNK]"]
    library = t.Tokenizer(t.models.Unigram())
    library.pre_tokenizer = t.pre_tokenizers.Metaspace()
    library.decoder = t.decoders.Metaspace()
    trainer = t.trainers.UnigramTrainer(
      vocab_size=150, special_tokens=names, unk_token="[UNK]", show_progress=False
    )
  library.train_from_iterator([" ".join(WORDS)] * 3 + WORDS, trainer)
  ids = [(x, library.token_to_id(x)) for x in ("[CLS]", "[SEP]")]
  library.post_processor = t.processors.TemplateProcessing(
    single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=ids
  )
  roles = {"cls": "[CLS]", "sep": "[SEP]", "unk": "[UNK]", "pad": "[PAD]", "mask": "[MASK]"}
  return transformers.PreTrainedTokenizerFast(
    tokenizer_object=library, **{f"{x}_token": y for x, y in roles.items()}
  )


def made(kind, system, folder, **fields):
  """A random model of a class of gliner, saved in a folder."""
  import torch

  words = tokenizer(system)
  encoder = {"model_type": system, "vocab_size": len(words), **SIZES, **(MORE | OTHERS)[system]}
  encoder["pad_token_id"] = words.pad_token_id
  config = {"encoder_config": encoder, "model_name": "none/such", "hidden_size": 16}
  config |= {
    "max_width": 12 if kind.endswith("Token") else 5,
    "max_types": 30,
    "dropout": 0.1,
    "_attn_implementation": "eager",
  }
  options = {}
  if kind.startswith("Bi"):
    options["labels_tokenizer"] = tokenizer("bert")
    size = len(options["labels_tokenizer"])
    of_labels = {"model_type": "bert", "vocab_size": size, **SIZES, "hidden_size": 20}
    config |= {"labels_encoder": "none/such", "labels_encoder_config": of_labels}
  name = kind.replace("Span", "EncoderSpan").replace("Token", "EncoderToken")
  config = getattr(gliner.config, f"{name}Config")(**{**config, **fields})
  of_class = getattr(gliner.model, f"{name}GLiNER")
  torch.manual_seed(0)
  model = of_class(config, tokenizer=words, backbone_from_pretrained=False, **options)
  of_class._resize_token_embeddings(model, config, words)
  with torch.no_grad():
    for parameter in model.parameters():
      parameter.add_(torch.randn_like(parameter) * 0.16)
    if kind.endswith("Token"):  # else hardly a word is in any name
      model.model.scorer.out_mlp[-1].bias.add_(1.5)
  model.eval()
  model.save_pretrained(folder, safe_serialization=True)
  return model


def texts(number, most=40):
  rng = random.Random(0)
  drawn = (rng.choices(WORDS, k=rng.randint(1, most)) for _ in range(number))
  return [" ".join(x) if i % 7 else f"  {'  '.join(x)}\n" for i, x in enumerate(drawn)]


def theirs_of(model, chosen, **options):
  found = model.inference(chosen, sorted(LABELS), batch_size=8, **options)
  return [
    sorted((x["start"], x["end"], x["label"], x["score"]) for x in of_text) for of_text in found
  ]


def ours_of(model, chosen, **options):
  return [
    sorted((x.start, x.end, x.label, x.score) for x in of_text)
    for of_text in model.predict(chosen, labels=LABELS, **options)
  ]


def logits_of_theirs(model, chosen):
  """Logits by text, span of words and label."""
  import torch

  prepared = model.prepare_batch(chosen, sorted(LABELS))
  batch = model.collate_batch(prepared["input_x"], prepared["entity_types"])
  with torch.no_grad():
    found = model.run_batch(batch).logits.numpy()
  if model.config.span_mode != "token_level":
    return lambda text, start, end: found[text, start, end - 1 - start]
  return lambda text, start, end: np.minimum(
    np.minimum(found[text, start, :, 0], found[text, end - 1, :, 1]),
    found[text, start:end, :, 2].min(0),
  )


def largest_difference(model, theirs, chosen):
  """How far our logits of all spans are from theirs, and how many there are."""
  from luke_jax.inference import batches, predicting, settings

  task = settings.task_of(model, **predicting.asked(model, LABELS))
  examples = [task.parse({"text": x}, "", "") for x in chosen]
  processor = settings.processor_of(model, task)
  rows = task.features(processor, examples)
  assert len(rows) == len(chosen)  # none is read in windows
  shapes = batches.shapes_of(model.backbone)
  found = batches.outputs(model, task, rows, processor.entity_vocab.pad_id, shapes)["logits"]
  expected = logits_of_theirs(theirs, chosen)
  pairs = [
    (logits, expected(row.example, *span))
    for row, of_row in zip(rows, found, strict=True)
    for span, logits in zip(row.source.tolist(), of_row[:, : len(LABELS)], strict=False)
  ]
  ours, theirs = map(np.stack, zip(*pairs, strict=True))
  assert 0.3 < np.abs(theirs).max() < 16
  return np.abs(ours - theirs).max(), ours.size


def same(found, expected):
  """Whether names are the same, with the same scores; and how many there are."""
  names, wanted = ([[x[:3] for x in of] for of in y] for y in (found, expected))
  scores, others = ([x[3] for of in y for x in of] for y in (found, expected))
  return names == wanted and np.allclose(scores, others, atol=1e-5, rtol=0)


# Each kind, and each of the systems that GLiNER is published on; all twelve were tried by hand.
PAIRS = ("BiSpan modernbert", "BiToken bert", "UniSpan deberta-v2", "UniToken bert")


@pytest.fixture(scope="module", params=PAIRS)
def pair(request, tmp_path_factory):
  """A model of gliner, and ours of its files."""
  kind, system = request.param.split()
  folder = tmp_path_factory.mktemp("gliner")
  theirs = made(kind, system, folder)
  with warnings.catch_warnings():
    warnings.simplefilter("error", UserWarning)
    return theirs, luke_jax.load(folder)


def test_logits_and_files(pair, tmp_path):
  theirs, model = pair
  assert largest_difference(model, theirs, texts(24))[0] < 1e-5
  model.save(tmp_path)
  assert json.loads((tmp_path / "config.json").read_text())["architectures"] == [model.architecture]
  theirs, model = gliner.GLiNER.from_pretrained(tmp_path), luke_jax.load(tmp_path)
  assert largest_difference(model, theirs, texts(8))[0] < 1e-5


def test_names(pair):
  theirs, model = pair
  chosen, number = texts(100, 14), 0
  for threshold in (0.3, 0.5):
    for nested in (False, True):
      for several in (False, True):
        options = {"flat_ner": not nested, "multi_label": several}
        expected = theirs_of(theirs, chosen, threshold=threshold, **options)
        found = ours_of(model, chosen, threshold=threshold, nested=nested, several=several)
        assert same(found, expected), (threshold, options)
        number += sum(map(len, found))
  assert number > 500


@pytest.mark.parametrize("system", MORE)
def test_words_of_hostile_texts(system, tmp_path):
  """Each word has the same pieces, whatever the text."""
  from luke_jax.tasks.ner.documents import words_of
  from luke_jax.text import load_tokenizer

  theirs, rng = tokenizer(system), random.Random(1)
  theirs.save_pretrained(tmp_path)
  ours, splitter = load_tokenizer(tmp_path), gliner.data_processing.WordsSplitter()
  for text in ["".join(rng.choices(HOSTILE, k=rng.randint(1, 60))) for _ in range(300)]:
    places = words_of(text, 0, len(text), hyphenated=True)
    words = [text[start:end] for start, end in places]
    assert [(x, *y) for x, y in zip(words, places, strict=True)] == [*splitter(text)]
    if words:
      read = theirs(words, is_split_into_words=True, add_special_tokens=False)
      pieces = [[] for _ in words]
      for id, word in zip(read["input_ids"], read.word_ids(), strict=True):
        pieces[word].append(id)
      assert [x.ids for x in ours.encode(words)] == pieces


@pytest.mark.parametrize("system", OTHERS)
def test_other_encoders(system, tmp_path):
  theirs = made("BiSpan", system, tmp_path)
  assert largest_difference(luke_jax.load(tmp_path), theirs, texts(16))[0] < 1e-5


def test_long_texts(tmp_path):
  """A text longer than a window has the names of its windows, and gliner's before its cut."""
  theirs = made("BiSpan", "modernbert", tmp_path, max_len=40)
  model, text = luke_jax.load(tmp_path), " ".join(texts(20, 20))
  assert len(text.split()) > 150
  long = ours_of(model, [text], threshold=0.5)[0]
  assert long[-1][1] > len(text) - 60
  assert theirs_of(theirs, [text], threshold=0.5)[0][-1][1] < len(text) / 2


def test_a_description_is_read_with_its_label(tmp_path):
  theirs = made("UniSpan", "deberta-v2", tmp_path, embed_ent_token=False)
  model, chosen = luke_jax.load(tmp_path), texts(10)
  asked = ["person", "award: prize of the year"]
  expected = theirs.inference(chosen, sorted(asked), threshold=0.3)
  found = model.predict(chosen, labels=asked, threshold=0.3)
  for one, other in zip(found, expected, strict=True):
    names = [(x.start, x.end, x.label) for x in one]
    assert names == [(x["start"], x["end"], x["label"].partition(":")[0]) for x in other]


def test_archives_of_pytorch_and_configs_without_sizes(tmp_path):
  """Older models: no safetensors, a number of words that their config does not say."""
  theirs = made("UniSpan", "deberta-v2", tmp_path)
  theirs.save_pretrained(tmp_path)
  (tmp_path / "model.safetensors").unlink()
  path = tmp_path / "gliner_config.json"
  config = json.loads(path.read_text())
  config |= {"vocab_size": -1, "class_token_index": -1, "model_type": "gliner"}
  config["encoder_config"]["vocab_size"] -= 3
  path.write_text(json.dumps(config))
  assert largest_difference(luke_jax.load(tmp_path), theirs, texts(8))[0] < 1e-5
