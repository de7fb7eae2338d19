"""The options of a request: parameters of the address, and the same in a JSON body."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from starlette.requests import Request

from zskl.parameters import did_you_mean
from zskl.serve.refusal import Refusal, shown
from zskl.serve.schemas.predictions import PredictionOptions

OPTIONS = frozenset(PredictionOptions.model_fields)


def merged(address: PredictionOptions, body: PredictionOptions) -> PredictionOptions:
    """The options of a prediction. What a JSON body sets wins over the address."""
    given = body.model_fields_set & OPTIONS
    if not given:
        return address
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


def seen_version(request: Request) -> int | None:
    """The version of the classes that the sender of a change has looked at, from the header If-Match; None if it does
    not say."""
    given = request.headers.get("if-match")
    if given is None or given.strip() == "*":
        return None
    found = re.fullmatch(r'"(\d{1,15})"', given.strip(), re.ASCII)
    if found is None:
        raise Refusal(422, f'If-Match is {shown(given)}: expected the ETag of GET /classes/NAME, such as "3"')
    return int(found[1])


def check_names(given: Iterable[str], known: Collection[str]) -> None:
    """Refuse unknown parameters of the address, which would be ignored otherwise."""
    unknown = next((name for name in given if name not in known), None)
    if unknown is not None:
        near = did_you_mean(unknown, known)
        raise Refusal(422, f"there is no parameter {shown(unknown)}{near}: expected some of {', '.join(known)}")
