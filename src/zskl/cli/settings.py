"""The option --set."""

from __future__ import annotations

import json


def setting(text: str) -> tuple[str, object]:
    """ "sigma=0.8" → ("sigma", 0.8); values are numbers, true, false, none or text."""
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not name:
        raise ValueError(f"--set {text!r}: expected NAME=VALUE, for example --set sigma=0.8")
    if name in ("random_state", "device"):
        raise ValueError(f"--set {text!r}: use --{'seeds' if name == 'random_state' else 'device'} for that")
    constants = {"true": True, "false": False, "none": None}
    if value.lower() in constants:
        return name, constants[value.lower()]
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value
