"""The model card that goes with a saved model."""

from luke_jax.convert.model import Model

_TEMPLATE = """\
---
library_name: transformers
tags:
- luke
- luke_jax
---

# {architecture}

A LUKE: a transformer over words and entities with {attention} self-attention
([Yamada et al., EMNLP 2020](https://aclanthology.org/2020.emnlp-main.523/)), written by luke_jax.

| | |
|---|---|
| layers, width, heads | {layers}, {width}, {heads} |
| words, entities | {words:,}, {entities:,} |
| parameters | {parameters:,} |
| started from | {base} |
{labels}
## Use

In JAX:

```python
import luke_jax

model = luke_jax.load("DIRECTORY")
```

In PyTorch, from the same files:

```python
from transformers import {transformers_class}

model = {transformers_class}.from_pretrained("DIRECTORY")
```
"""


def model_card(model: Model) -> str:
  """A README.md that says what the model is and how to load it, on both sides."""
  import jax

  config = model.config
  shown = ", ".join(model.labels[:50]) + (" …" if len(model.labels) > 50 else "")
  return _TEMPLATE.format(
    architecture=model.architecture,
    transformers_class=model.architecture,
    attention="entity-aware" if config.use_entity_aware_attention else "the original",
    layers=config.num_hidden_layers,
    width=config.hidden_size,
    heads=config.num_attention_heads,
    words=config.vocab_size,
    entities=config.entity_vocab_size,
    parameters=sum(x.size for x in jax.tree.leaves(model.params)),
    base=config.bert_model_name or "not recorded",
    labels=f"| labels | {shown} |\n" if model.labels else "",
  )
