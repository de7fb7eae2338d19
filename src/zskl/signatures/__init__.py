"""What describes the classes: tables of attributes, and vectors of words and sentences."""

from zskl.signatures.sentences import sentence_vectors
from zskl.signatures.words import read_names, word_vectors

__all__ = ["read_names", "sentence_vectors", "word_vectors"]
