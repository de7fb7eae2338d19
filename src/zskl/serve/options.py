"""The options of a request: parameters of the address, and what a body says of the same."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, fields, replace

from zskl.parameters import did_you_mean
from zskl.serve import schemas
from zskl.serve.refusal import Refusal, shown

COMPARED, LETTERS = 2000, 60  # names, and their length, up to which a misspelt one is compared with all


@dataclass(frozen=True)
class Asked:
    """Options of a prediction. `calibration`, if given, takes the place of the model's constant; `against` names the
    class that an explanation compares with, by default the runner-up, by at most `attributes` contributions."""

    top: int = 5
    candidates: tuple[str, ...] | None = None
    calibrated: bool = True
    calibration: float | None = None
    explain: bool = False
    against: str | None = None
    attributes: int = 5

    def overridden(self, given: schemas.Options) -> Asked:
        """What a JSON body sets goes before the address."""
        found = {name: getattr(given, name) for name in given.model_fields_set & {one.name for one in fields(self)}}
        if found.get("candidates") is not None:
            found["candidates"] = tuple(found["candidates"])
        return replace(self, **found)

    def check(self) -> Asked:
        if self.against is not None and not self.explain:
            raise Refusal(
                422, f"against is {shown(self.against)}, and nothing is to be explained: ask for explain, too"
            )
        return self


def check_names(given: Iterable[str], known: Collection[str]) -> None:
    """Refuse parameters of the address that there are not, which would be passed over otherwise."""
    unknown = next((name for name in given if name not in known), None)
    if unknown is not None:
        near = did_you_mean(unknown, known)
        raise Refusal(422, f"there is no parameter {shown(unknown)}{near}: those here are {', '.join(known)}")


def no_class(name: str, names: Collection[str], status: int = 422) -> Refusal:
    """The refusal of a name that no class has."""
    near = did_you_mean(name, names) if len(names) <= COMPARED and len(name) <= LETTERS else ""
    return Refusal(status, f"no class is called {shown(name)}{near}: GET /classes lists those there are")
