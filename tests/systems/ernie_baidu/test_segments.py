"""Texts cut into phrases."""

import tempfile

import pytest

from data.ernie_baidu.units import segmenter
from luke_jax.errors import InputError


def test_spaces_cut():
  assert segmenter("spaces")("我 来到  北京 ") == ["我", "来到", "北京"]


@pytest.mark.parity
def test_jieba_cuts_chinese_words_and_keeps_its_dictionary_in_our_cache(tmp_path, monkeypatch):
  jieba = pytest.importorskip("jieba")
  monkeypatch.setenv("LUKE_JAX_CACHE", str(tmp_path / "cache"))
  monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
  monkeypatch.setattr(jieba, "dt", jieba.Tokenizer())
  cut = segmenter("jieba")
  assert cut("我来到北京清华大学。 你好") == ["我", "来到", "北京", "清华大学", "。", "你好"]
  assert list((tmp_path / "cache").rglob("*.cache"))
  assert not list(tmp_path.glob("*.cache"))
  (tmp_path / "file").write_text("")
  monkeypatch.setenv("LUKE_JAX_CACHE", str(tmp_path / "file"))
  with pytest.raises(InputError, match="expected a folder that can be written"):
    segmenter("jieba")
