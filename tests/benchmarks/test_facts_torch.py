"""The ATLOP beside `facts`: it learns a few documents, reads long ones, and ignores the unknown."""

import json

import pytest

from benchmarks.__main__ import main

NAMES = ("Ada", "Bob", "Eve", "Rome", "Oslo", "Bonn")
WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "*", ".", "lives", "in", *NAMES)


@pytest.fixture
def torch():
  pytest.importorskip("transformers")
  return pytest.importorskip("torch")


def documents(folder):
  """Writes documents of two sentences, of people and where they live."""
  lines = []
  for number, (one, there) in enumerate((x, y) for x in NAMES[:3] for y in NAMES[3:]):
    other = NAMES[(NAMES.index(one) + 1) % 3]
    text, names = f"{one} lives in {there} . {other} .", [one, there, other]
    spans = [[text.index(x), text.index(x) + len(x)] for x in names]
    lines.append(
      {
        "id": str(number),
        "text": text,
        "names": [{"label": "", "mentions": [x]} for x in spans],
        "facts": [[0, 1, "residence"]],
        "unknown": [[2, 1]],
      }
    )
  for name in ("train", "dev", "test"):
    written = "".join(json.dumps(x) + "\n" for x in lines)
    (folder / f"{name}.jsonl").write_text(written, encoding="utf-8")


@pytest.fixture
def bert(tmp_path, torch):
  """A tiny BERT with random weights, in a folder."""
  import transformers

  folder = tmp_path / "bert"
  folder.mkdir()
  (folder / "vocab.txt").write_text("".join(x + "\n" for x in WORDS), encoding="utf-8")
  tokenizer = transformers.BertTokenizerFast(str(folder / "vocab.txt"), do_lower_case=False)
  tokenizer.save_pretrained(folder)
  torch.manual_seed(0)
  config = transformers.BertConfig(
    vocab_size=len(WORDS),
    hidden_size=24,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=48,
    max_position_embeddings=32,
  )
  transformers.BertModel(config).save_pretrained(folder)
  return folder


@pytest.mark.parity
@pytest.mark.parametrize("adapter", [0, 4])
def test_it_learns_documents_by_heart(tmp_path, bert, adapter, capsys):
  documents(tmp_path)
  line = f"facts_torch --folder {tmp_path} --model {bert} --rate 5e-3 --head-rate 5e-3 --epochs 20"
  assert (
    main([*line.split(), "--adapter", str(adapter), "--dtype", "float32", "--every", "10"]) == 0
  )
  *_, dev, test = map(json.loads, capsys.readouterr().out.splitlines())
  assert (dev["file"], test["file"]) == ("dev.jsonl", "test.jsonl")
  assert dev["f1"] == test["f1"] == test["f1_inside"] == 1


@pytest.mark.parity
def test_a_text_in_two_windows_has_the_states_of_each(bert, torch):
  import transformers

  from benchmarks.torch_atlop import Atlop, Document, loss_of

  encoder = transformers.BertModel.from_pretrained(bert, add_pooling_layer=False)
  model = Atlop(encoder, 2, bfloat16=False).eval()
  ids = [2, *[9 + i % 6 for i in range(40)], 3]
  targets = torch.zeros(2, 2, 2)
  long, short = Document(ids, [[1, 12], [41]], targets), Document(ids[:20], [[1], [12]], targets)
  with torch.no_grad():
    together, alone = model([long, short]), [model([x])[0] for x in (long, short)]
  for one, other in zip(together, alone, strict=True):
    assert one.shape == (2, 2, 2)
    torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)
  before = loss_of(alone[1:], [short]).item()
  alone[1][0, 1, 0] += 5
  assert loss_of(alone[1:], [short]).item() > before
  targets[0, 1] = -100
  assert loss_of(alone[1:], [short]).item() < before
