"""Server of a tagging model by FastAPI and transformers, written as their documents do.

    python -m benchmarks.serving.on_fastapi MODEL PORT THREADS

The endpoint is a plain function, which FastAPI calls in its threads; THREADS are those of PyTorch
for each of them. uvicorn takes uvloop and httptools where they are installed.
"""

import sys

import fastapi
import pydantic
import torch
import transformers
import uvicorn


class Request(pydantic.BaseModel):
  """Body of a request."""

  text: str | list[str]


def application(directory: str) -> fastapi.FastAPI:
  """Returns an application that finds names with the model of a directory."""
  tagger = transformers.pipeline("token-classification", directory, aggregation_strategy="first")
  made = fastapi.FastAPI()

  @made.get("/ready")
  def ready() -> dict[str, bool]:
    return {"ready": True}

  @made.post("/predict")
  def predict(request: Request) -> dict[str, list]:
    texts = [request.text] if isinstance(request.text, str) else request.text
    with torch.inference_mode():
      found = tagger(texts, batch_size=len(texts))
    return {"predictions": [[_plain(name) for name in names] for names in found]}

  return made


def _plain(name: dict) -> dict:
  kept = {key: name[key] for key in ("word", "start", "end")}
  return {**kept, "label": name["entity_group"], "score": float(name["score"])}


if __name__ == "__main__":
  model, port, threads = sys.argv[1:]
  torch.set_num_threads(int(threads))
  uvicorn.run(application(model), port=int(port), log_level="warning")
