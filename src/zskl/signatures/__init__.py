"""What describes the classes: tables of attributes, and vectors of words and sentences."""
