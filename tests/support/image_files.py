"""Pictures and networks for tests, drawn on the spot."""

from __future__ import annotations

from zskl.datasets.backbones import Backbone, Preprocessing


def colours(key="colours 1"):
    """A network without weights: mean red, green and blue, and how many pictures it has seen."""
    seen = []

    def features(batch):
        seen.append(len(batch))
        return batch.mean(axis=(2, 3))

    return Backbone("colours", key, Preprocessing((8, 8), 1.0, (0.0,) * 3, (1.0,) * 3), features), seen


def picture(path, colour=(200, 100, 50), size=(20, 10), **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    from PIL import Image

    Image.new("RGB", size, colour).save(path, **options)
    return path


def draw_birds(folder):
    """Folder per class: 2 × 3 pictures, red value 10 × class + number; hidden files and others among them."""
    for label, kind in enumerate(("wren", "owl")):
        for number in range(3):
            picture(folder / kind / f"{number}.png", (10 * label + number, 0, 0))
    (folder / "rows.csv").write_text("no picture")
    picture(folder / ".thumbnails" / "0.png")
    picture(folder / "owl" / ".hidden.png")
    return folder


def field(number, value):
    """One field of a protocol buffer: a whole number, or bytes with their length."""
    if isinstance(value, int):
        return bytes([number << 3, value])
    data = value.encode() if isinstance(value, str) else value
    assert len(data) < 1 << 14
    size = bytes([len(data)]) if len(data) < 128 else bytes([len(data) & 127 | 128, len(data) >> 7])
    return bytes([number << 3 | 2]) + size + data


def onnx_model(path, shape, operator, kind=1):
    """The smallest ONNX file: x (of `shape`, names for free sizes) → operator → y."""
    sizes = b"".join(field(1, field(1, size) if isinstance(size, int) else field(2, size)) for size in shape)
    x = field(1, "x") + field(2, field(1, field(1, kind) + field(2, sizes)))
    y = field(1, "y") + field(2, field(1, field(1, kind)))
    node = field(1, "x") + field(2, "y") + field(4, operator)
    graph = field(1, node) + field(2, "g") + field(11, x) + field(12, y)
    path.write_bytes(field(1, 8) + field(7, graph) + field(8, field(2, 13)))
