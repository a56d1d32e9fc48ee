"""Makes the three tiny tokenizers of the tests, into tests/goldens/text.

Run it from the repository root: python tests/text/make_fixtures.py
The goldens were recorded with its output: run make_goldens.py after it.
"""

import contextlib
import tempfile
from pathlib import Path

import sentencepiece
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

FOLDER = Path(__file__).resolve().parents[1] / "goldens" / "text"

SENTENCES = """
Beyoncé lives in Los Angeles, and she was born in Houston, Texas.
The river runs from the northern hills to the sea near Lisbon.
Ada Lovelace wrote the first program for a machine that was never built.
Tokyo is the capital of Japan; its tower stands in the district of Minato.
In 1969 two men walked on the Moon, while a third stayed in orbit.
She doesn't think that they'll arrive before the 12th of March, 2024.
The painter sold three pictures in Paris and kept the other forty.
A small town in Iceland has more sheep than people, as it's often said.
The company was founded in 1998 and moved its office to Dublin in 2006.
He played for Ajax, Barcelona and Milan, then he became a coach.
Marie Curie won the Nobel Prize twice: in physics and in chemistry.
The old bridge over the Danube was closed, and a new one was opened.
They said on Thursday that the minister would resign after the vote.
Wikipedia has articles on the band, the album and the singer.
Über die Brücke fährt ein Zug nach Köln, und die Straße ist laut.
El río pasa por Córdoba y llega al mar cerca de Cádiz.
L'été dernier, la mère de François a visité Orléans.
東京は日本の首都です。東京タワーは港区にあります。
私は京都で生まれ、大阪で育ちました。
北京是中国的首都，上海是最大的城市。
القاهرة هي عاصمة مصر وأكبر مدنها.
ירושלים היא עיר עתיקה בהרים.
Москва стоит на реке, а Волга течёт на юг.
""".strip().splitlines()

# The normaliser of XLM-R in miniature; its real one alone has a quarter of a megabyte.
RULES = {
  "\t": " ",
  "\n": " ",
  "\r": " ",
  "\u00a0": " ",
  "\u3000": " ",
  "\u2028": " ",
  "\u200b": "",
  "\ufeff": "",
  "ﬁ": "fi",
  "㍿": "株式会社",
  "½": "1⁄2",
  "e\u0301": "é",
  "Ａ": "A",
  "\u00a8": " \u0308",
}


def make_byte_level(folder: Path) -> None:
  """A byte-level BPE of 600 tokens, numbered as RoBERTa's: special tokens first, <mask> last."""
  tokenizer = Tokenizer(models.BPE())
  tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
  tokenizer.decoder = decoders.ByteLevel()
  trainer = trainers.BpeTrainer(
    vocab_size=599,
    special_tokens=["<s>", "<pad>", "</s>", "<unk>"],
    initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    show_progress=False,
  )
  tokenizer.train_from_iterator(SENTENCES, trainer)
  vocab = tokenizer.get_vocab()
  folder.mkdir(parents=True, exist_ok=True)
  tokenizer.model.save(str(folder))
  merges = [
    tuple(line.split(" "))
    for line in (folder / "merges.txt").read_text(encoding="utf-8").splitlines()[1:]
  ]
  models.BPE({**vocab, "<mask>": len(vocab)}, merges).save(str(folder))


def make_sentence_piece(folder: Path) -> None:
  """A unigram SentencePiece model of about 300 pieces, with XLM-R's first three."""
  folder.mkdir(parents=True, exist_ok=True)
  rules = "".join(f"{_codes(source)}\t{_codes(target)}\n" for source, target in RULES.items())
  # The model keeps the paths it was trained with: relative ones make it the same every time.
  with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
    Path("rules.tsv").write_text(rules, encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
      sentence_iterator=iter(SENTENCES),
      model_prefix="tiny",
      vocab_size=400,
      hard_vocab_limit=False,
      character_coverage=1.0,
      normalization_rule_tsv="rules.tsv",
      num_threads=1,
      minloglevel=2,
    )
    model = Path("tiny.model").read_bytes()
  (folder / "sentencepiece.bpe.model").write_bytes(model)


def make_word_piece(folder: Path) -> None:
  """A WordPiece vocabulary: every character, and each word in two pieces, the first of four."""
  normalizer, splitter = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
  text = normalizer.normalize_str("\n".join(SENTENCES))
  words = [word for word, _ in splitter.pre_tokenize_str(text)]
  pieces = {character for word in words for character in word}
  pieces |= {f"##{character}" for character in pieces} | {word[:4] for word in words}
  pieces |= {f"##{word[4:]}" for word in words if word[4:]}
  special = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
  folder.mkdir(parents=True, exist_ok=True)
  lines = "".join(f"{piece}\n" for piece in special + sorted(pieces))
  (folder / "vocab.txt").write_text(lines, encoding="utf-8")


def _codes(text: str) -> str:
  return " ".join(f"{ord(character):X}" for character in text)


if __name__ == "__main__":
  make_byte_level(FOLDER / "byte_level")
  make_sentence_piece(FOLDER / "sentence_piece")
  make_word_piece(FOLDER / "word_piece")
