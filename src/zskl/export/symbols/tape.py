"""What a formula has left behind: operators in order, and the constants that they name. Knows no ONNX package."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Node:
    """One operator: names of what goes in and comes out, and its attributes."""

    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]


@dataclass
class Tape:
    """Each node takes inputs of the graph, constants and what nodes before it gave."""

    nodes: list[Node] = field(default_factory=list)
    constants: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict)

    def constant(self, value: Any) -> str:
        """The name of a constant; the same array is kept once."""
        array = np.asarray(value)
        for name, known in self.constants.items():
            if known is array:
                return name
        name = f"constant_{len(self.constants)}"
        self.constants[name] = array
        return name

    def write(self, operator: str, *inputs: str, outputs: int = 1, **attributes: Any) -> str:
        """Append a node; the name of its first output."""
        names = tuple(f"{operator}_{len(self.nodes)}" + "_more" * place for place in range(outputs))
        self.nodes.append(Node(operator, inputs, names, attributes))
        return names[0]
