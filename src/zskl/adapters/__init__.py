"""Methods that adapt one encoder's scores to examples or unlabelled rows; `ADAPTERS` has them by their names."""

from collections.abc import Mapping

from zskl.adapters._adapter import Adapter
from zskl.adapters.clap import CLAP
from zskl.adapters.gda import GDA
from zskl.adapters.logistic import Logistic
from zskl.adapters.proker import ProKeR
from zskl.adapters.stata import StatA
from zskl.adapters.tip_adapter import TipAdapter
from zskl.adapters.transclip import TransCLIP
from zskl.adapters.zlap import ZLaP

__all__ = ["ADAPTERS", "CLAP", "GDA", "Logistic", "ProKeR", "StatA", "TipAdapter", "TransCLIP", "ZLaP"]

_ORDER = (TipAdapter, GDA, CLAP, ProKeR, TransCLIP, StatA, ZLaP, Logistic)
ADAPTERS: Mapping[str, type[Adapter]] = {adapter.kind: adapter for adapter in _ORDER}
