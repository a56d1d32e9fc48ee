"""Strings with entity spans -> the model's inputs.

A tokenizer turns text into word ids and an `EntityVocab` titles into entity ids; both are read from
a Hugging Face directory and written back to one. A `Processor` joins the two: it cuts the text
where entities begin and end, marks those a task asks about, and gives padded arrays under Hugging
Face's names. Text too long for the model is refused, truncated with a report of the entities
dropped, or read in windows that miss none.
"""

from luke_jax.text.entity_vocab import EntityVocab, load_entity_vocab, save_entity_vocab
from luke_jax.text.parts import JoinedWords, RowEntity, join_words
from luke_jax.text.processor import Processor, load_processor, save_processor
from luke_jax.text.rows import Row
from luke_jax.text.text_inputs import Task, TextInput
from luke_jax.text.tokenizer import SpecialTokens, Tokenizer, Tokens
from luke_jax.text.tokenizer_files import load_tokenizer, save_tokenizer

__all__ = ["EntityVocab", "JoinedWords", "Processor", "Row", "RowEntity", "SpecialTokens", "Task"]
__all__ += ["TextInput", "Tokenizer", "Tokens", "join_words", "load_entity_vocab", "load_processor"]
__all__ += ["load_tokenizer", "save_entity_vocab", "save_processor", "save_tokenizer"]
