"""Serves a model by Ray Serve as docs/howto/serving.md does, and asks it.

Needs `pip install 'ray[serve]'` and `luke-jax get english`: python -m tests.serve.check_ray
"""

import re
from pathlib import Path

import ray

import luke_jax
from luke_jax.serve import Client
from luke_jax.serve.service import as_json

PAGE = Path(__file__).parents[2] / "docs/howto/serving.md"
TEXT = "Ana lives in Paris."

if __name__ == "__main__":
  (code,) = re.findall(r"```python on_ray.py\n(.*?)```", PAGE.read_text(), re.DOTALL)
  names: dict = {}
  exec(code, names)
  ray.init(num_cpus=1, include_dashboard=False)
  names["ray_serve"].run(names["models"])
  found = Client("http://127.0.0.1:8000").predict(TEXT)
  names["ray_serve"].shutdown()
  expected = as_json(luke_jax.load("english/ner").predict(TEXT))
  assert [x["text"] for x in found] == [x["text"] for x in expected], found
  print(found)
