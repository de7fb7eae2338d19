"""Which statuses the OpenAPI description lists for a request."""

import re


def statuses(description, method, path):
    """The statuses of the operation that answers a request; None if the description lists no such operation."""
    method = "get" if method == "HEAD" else method.lower()
    for template, operations in description["paths"].items():
        if re.fullmatch(re.sub(r"\{\w+\}", ".*", template), path, re.DOTALL):
            return {int(status) for status in operations[method]["responses"]} if method in operations else None
    return None


def check(description, answer):
    """An answer has one of these statuses."""
    request = answer.request
    known = statuses(description, request.method, request.url.path)
    assert known is None or answer.status_code in known, (request.method, request.url.path, answer.status_code)
