"""A committee: several zero-shot classifiers whose logits are added."""
