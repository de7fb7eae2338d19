"""Methods to compare with; `BASELINES` has them by their names on the command line."""

from collections.abc import Mapping

from zskl.baselines._baseline import Baseline
from zskl.baselines.bilinear import ALE, SJE, DeViSE, LatEm
from zskl.baselines.cmt import CMT, CMTStar
from zskl.baselines.cnzsl import CNZSL
from zskl.baselines.conse import ConSE
from zskl.baselines.cosine import Cosine
from zskl.baselines.dap import DAP, IAP
from zskl.baselines.eszsl import ESZSL
from zskl.baselines.exem import EXEM
from zskl.baselines.gfzsl import GFZSL
from zskl.baselines.sae import SAE
from zskl.baselines.sse import SSE
from zskl.baselines.sync import SynC

__all__ = [
    "ALE",
    "BASELINES",
    "CMT",
    "CNZSL",
    "DAP",
    "ESZSL",
    "EXEM",
    "GFZSL",
    "IAP",
    "SAE",
    "SJE",
    "SSE",
    "CMTStar",
    "ConSE",
    "Cosine",
    "DeViSE",
    "LatEm",
    "SynC",
]

_ORDER = (DAP, IAP, ConSE, CMT, CMTStar, SSE, LatEm, ALE, DeViSE, SJE, ESZSL, SynC, SAE, EXEM, GFZSL, CNZSL, Cosine)
BASELINES: Mapping[str, type[Baseline]] = {baseline.kind: baseline for baseline in _ORDER}
