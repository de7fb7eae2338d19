"""Packages that take long to import: nothing imports them before it needs them."""

HEAVY = {
    "torch",
    "dask",
    "distributed",
    "onnxruntime",
    "matplotlib",
    "fastapi",
    "uvicorn",
    "h5py",
    "pyarrow",
    "PIL",
    "timm",
    "onnx",
    "sentence_transformers",
    "tokenizers",
    "usearch",
    "faiss",
}
