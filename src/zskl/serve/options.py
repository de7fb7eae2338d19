"""The options of a request: parameters of the address, and the same in a JSON body."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from zskl.parameters import did_you_mean
from zskl.serve.refusal import Refusal, shown
from zskl.serve.schemas.predictions import PredictionOptions


def merged(address: PredictionOptions, body: PredictionOptions) -> PredictionOptions:
    """The options of a prediction. What a JSON body sets wins over the address."""
    given = body.model_fields_set & PredictionOptions.model_fields.keys()
    return address.model_copy(update={name: getattr(body, name) for name in given})


def check_prediction(options: PredictionOptions) -> PredictionOptions:
    """Refuse options that contradict each other."""
    if options.against is not None and not options.explain:
        raise Refusal(422, f"against is {shown(options.against)} without an explanation: set explain, too")
    if options.raw and not options.explain:
        raise Refusal(422, "raw is set without an explanation: set explain, too")
    if options.candidates is not None and len(set(options.candidates)) < len(options.candidates):
        raise Refusal(422, "candidates names a class twice: name each once")
    return options


def check_names(given: Iterable[str], known: Collection[str]) -> None:
    """Refuse unknown parameters of the address, which would be ignored otherwise."""
    unknown = next((name for name in given if name not in known), None)
    if unknown is not None:
        near = did_you_mean(unknown, known)
        raise Refusal(422, f"there is no parameter {shown(unknown)}{near}: expected some of {', '.join(known)}")
