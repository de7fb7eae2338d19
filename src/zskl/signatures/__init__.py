"""What describes the classes: tables of attributes, and vectors of words and sentences."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from zskl.signatures.sentences import sentence_vectors
    from zskl.signatures.table import class_table
    from zskl.signatures.words import read_names, word_vectors
else:
    _HOMES = {"class_table": "table", "read_names": "words", "sentence_vectors": "sentences", "word_vectors": "words"}

    def __getattr__(name):
        """Imported when first used: estimators need the tables, but no encoders of sentences."""
        from importlib import import_module

        if name not in _HOMES:
            raise AttributeError(f"module 'zskl.signatures' has no attribute {name!r}")
        found = globals()[name] = getattr(import_module(f"zskl.signatures.{_HOMES[name]}"), name)
        return found

    def __dir__():
        return sorted({*globals(), *__all__})


__all__ = ["class_table", "read_names", "sentence_vectors", "word_vectors"]
