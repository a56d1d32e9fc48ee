"""Makes tests/goldens/bert/: tiny random models of BERT's shape as transformers writes them.

    pip install -e '.[parity]' && PYTHONPATH=tests python tests/goldens/make_bert.py

Each folder is a model's directory, with the inputs and outputs of PyTorch in expected.npz.
"""

import shutil
from pathlib import Path

import numpy as np
from parity import test_deberta, test_modernbert, test_other_berts
from parity.test_bert import inputs, outputs_of, reference

FOLDER = Path(__file__).parent / "bert"
CLASSES = (
  "BertForPreTraining",
  "BertForMultipleChoice",
  "RobertaForMaskedLM",
  "RobertaForSequenceClassification",
  "XLMRobertaForTokenClassification",
  "XLMRobertaForQuestionAnswering",
)
OTHERS = (
  "DistilBertForSequenceClassification",
  "ElectraForMaskedLM",
  "ElectraForSequenceClassification",
  "AlbertForMaskedLM",
  "MPNetForSequenceClassification",
)
OF_DEBERTA = {"conv_kernel_size": 3, "share_att_key": False, "type_vocab_size": 2}
MODERN = "ModernBertForTokenClassification"


def main() -> None:
  """Writes every class."""
  shutil.rmtree(FOLDER, ignore_errors=True)
  for name in CLASSES:
    model = reference(name)
    write(name, model, inputs(name, model.config.pad_token_id))
  for name in OTHERS:
    write(name, test_other_berts.reference(name), test_other_berts.inputs(name))
  name = "DebertaV2ForMultipleChoice"
  write(name, test_deberta.reference(name, OF_DEBERTA), test_deberta.inputs(name, 2))
  write(MODERN, test_modernbert.reference(MODERN), test_modernbert.inputs(MODERN))


def write(name: str, model, arrays: dict[str, np.ndarray]) -> None:
  """Writes the directory of a model, with its inputs and outputs."""
  model.save_pretrained(FOLDER / name)
  outputs = outputs_of(model, arrays)
  record = {f"input:{key}": x for key, x in arrays.items()}
  record |= {f"output:{key}": x for key, x in outputs.items()}
  np.savez_compressed(FOLDER / name / "expected.npz", **record)


if __name__ == "__main__":
  main()
