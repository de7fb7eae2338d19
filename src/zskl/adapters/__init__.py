"""Methods that adapt one encoder's scores to examples or unlabelled rows; `ADAPTERS` has them by their names."""

from collections.abc import Mapping

from zskl.adapters._adapter import Adapter
from zskl.adapters.few_shot import CLAP, GDA, Logistic, ProKeR, TipAdapter
from zskl.adapters.transductive import StatA, TransCLIP, ZLaP

__all__ = ["ADAPTERS", "CLAP", "GDA", "Logistic", "ProKeR", "StatA", "TipAdapter", "TransCLIP", "ZLaP"]

_ORDER = (TipAdapter, GDA, CLAP, ProKeR, TransCLIP, StatA, ZLaP, Logistic)
ADAPTERS: Mapping[str, type[Adapter]] = {adapter.kind: adapter for adapter in _ORDER}
