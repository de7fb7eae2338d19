"""The record of a formula: operators in order, and the constants that they use. It does not need the package onnx."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Node:
    """One operator: the names of its inputs and outputs, and its attributes."""

    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]


@dataclass
class Tape:
    """Nodes in order. A node uses inputs of the graph, constants, and outputs of nodes before it."""

    nodes: list[Node] = field(default_factory=list)
    constants: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict)

    def constant(self, value: Any) -> str:
        """The name of a constant. The same array is stored once."""
        array = np.asarray(value)
        for name, known in self.constants.items():
            if known is array:
                return name
        name = f"constant_{len(self.constants)}"
        self.constants[name] = array
        return name

    def write(self, operator: str, *inputs: str, outputs: int = 1, **attributes: Any) -> str:
        """Append a node, and return the name of its first output."""
        names = tuple(f"{operator}_{len(self.nodes)}" + "_more" * place for place in range(outputs))
        self.nodes.append(Node(operator, inputs, names, attributes))
        return names[0]
