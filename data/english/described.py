"""Writes the descriptions of CoDEx's types, to learn labels with: {"river": "natural flowing …"}.

    python -m data.english.described types_en.json.gz descriptions.json

The first file is of github.com/tsafavi/codex, `data/types/en.json` (Safavi and Koutra, EMNLP 2020;
MIT), packed; what it says is Wikidata's (CC0).
"""

import gzip
import json
import sys
from pathlib import Path


def main(types: str, output: str) -> None:
  """Writes labels in lower case with the first description that has one."""
  found: dict[str, str] = {}
  for entry in json.loads(gzip.decompress(Path(types).read_bytes())).values():
    if entry["label"] and entry["description"]:
      found.setdefault(entry["label"].lower(), entry["description"])
  Path(output).write_text(json.dumps(found, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
  main(*sys.argv[1:])
