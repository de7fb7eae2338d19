"""The classes of a running service: a snapshot of them for each request, and the changes to them. A change is on the
disk before a new snapshot replaces the old one, so a class is there whole or not at all, even after a crash."""

import copy
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zskl.estimators._candidates import CandidateScorer, nearest_classes
from zskl.estimators.base import ZeroShotClassifier
from zskl.estimators.explanation import RowExplainer
from zskl.serve.limits import Limits, Refusal, quote, unknown_class
from zskl.serve.schemas import Kind, NearClass
from zskl.serve.store import ClassStore, Line, StoredState, TeachingState, class_line
from zskl.serve.teaching import check_teaching_fits, teach_model
from zskl.serve.vocabulary import SentenceEncoder, Vocabulary
from zskl.signatures.table import SignatureTable

CACHED_PANELS = 16  # sets of candidates whose panel is kept for the next request
CACHED_EXPLAINERS = 4  # the same of what explains, which takes more memory
EXAMPLES_SUFFIX = "/examples"  # after the name of a class in an address
UNTAUGHT = TeachingState()
Attributes = Mapping[str, float]


def name_classes_by_text(model: ZeroShotClassifier) -> ZeroShotClassifier:
    """The model with its classes named by text, so that a class "seven" can stand beside the classes 0 to 9."""
    named = copy.copy(model)
    table = model.signature_table_
    # Their order stays: learned arrays have it, and people expect 2 before 10.
    named.classes_, named.seen_classes_ = (
        _convert_classes_to_text(classes) for classes in (model.classes_, model.seen_classes_)
    )
    for name in model.LABELLED:
        setattr(named, name, [str(label) for label in getattr(model, name)])
    if hasattr(model, "members_"):
        named.members_ = [name_classes_by_text(member) for member in model.members_]
    named.signature_table_ = replace(table, labels=_convert_classes_to_text(table.labels))
    return named


def drop_feature_names(model: ZeroShotClassifier) -> ZeroShotClassifier:
    """The model without names of features, for which scikit-learn would warn of every array."""
    plain = copy.copy(model)
    plain.__dict__.pop("feature_names_in_", None)
    return plain


def _convert_classes_to_text(labels: NDArray[Any]) -> NDArray[np.object_]:
    return np.array([str(label) for label in labels.tolist()], dtype=object)


@dataclass(frozen=True, eq=False)
class ClassDescription:
    """A description (p,), by attributes or a `sentence`. `version` is that of the first snapshot with it."""

    attributes: Attributes
    defaulted: list[str]
    vector: NDArray[np.float64]
    version: int = 0
    sentence: str | None = None

    def given(self, names: Sequence[str]) -> NDArray[np.bool_]:
        """(p,) which attributes somebody gave: of a sentence none."""
        return np.zeros(len(names), bool) if self.sentence is not None else ~np.isin(names, self.defaulted)


class ClassSnapshot:
    """The classes at one moment. It never changes, so a request sees the same classes from beginning to end."""

    def __init__(
        self,
        model: ZeroShotClassifier,
        added: Mapping[str, ClassDescription],
        version: int,
        taught: TeachingState = UNTAUGHT,
    ) -> None:
        self.added, self.version, self.taught = added, version, taught
        seen = set(model.seen_classes_.tolist())
        # Kinds stay together wherever classes are listed: seen ones, unseen ones, then those that people add.
        self.kinds: dict[str, Kind] = dict.fromkeys(model.seen_classes_.tolist(), "seen")
        self.kinds |= dict.fromkeys([name for name in model.classes_.tolist() if name not in seen], "unseen")
        known = model.signature_table_.select(list(self.kinds))
        self.kinds |= dict.fromkeys(added, "added")
        self._names = {normalise_name(name): name for name in self.kinds}
        matrix = np.vstack([known.matrix, *(one.vector for one in added.values())])
        self.table = SignatureTable(np.array([*known.labels, *added], dtype=object), matrix, known.names)
        self.model = teach_model(drop_feature_names(model), self.table, taught)
        # of parts, not of a bound method: else a cycle would keep each snapshot in memory after its last request
        self.panel = panel = lru_cache(CACHED_PANELS)(
            partial(_make_class_panel, self.model, self.table, self.kinds, self._names)
        )
        self.explainer = lru_cache(CACHED_EXPLAINERS)(lambda candidates, by: RowExplainer(panel(candidates), by))
        # now, so that no request waits for it
        self.panel(None).scores(np.zeros((1, model.n_features_in_), np.float32))

    def resolve_name(self, name: str) -> str:
        """The name of a class as it is listed here, whatever form its accents have. New names are composed (NFC)."""
        return name if name in self.kinds else self._names.get(normalise_name(name), normalise_name(name))

    def find_class(self, name: str) -> str:
        name = self.resolve_name(name)
        if name not in self.kinds:
            raise unknown_class(name, self.kinds, 404)
        return name

    def check_unchanged(self, name: str, since: int | None) -> None:
        """Refuse a change by somebody who saw version `since`, if somebody else has changed the class after that."""
        if since is None:
            return
        last = self.added[name].version if name in self.added else 0 if name in self.kinds else None
        if since > self.version or last is None or last > since:
            what = "is not there any more" if last is None else f"was changed in version {last}"
            raise Refusal(412, f"class {quote(name)} {what}, you saw version {since}: look at it again, then change it")

    def check_examples_unchanged(self, name: str, since: int | None) -> None:
        last = self.taught.versions.get(name, 0)
        if since is not None and (since > self.version or last > since):
            changed = f"the examples of {quote(name)} were changed in version {last}, you saw version {since}"
            raise Refusal(412, f"{changed}: look at them again, then change them")

    def similar_classes(self, places: Sequence[int], most: int) -> list[list[NearClass]]:
        """For the class in each of these places, those whose descriptions are most like it, by their cosine."""
        names = list(self.kinds)
        if len(names) < 2:
            return [[] for _ in places]
        order, cosines = nearest_classes(self.model.signature_scaling_, self.table, np.array(places), most)
        return [
            [
                {"class": names[k], "kind": self.kinds[names[k]], "similarity": float(c)}
                for k, c in zip(*pair, strict=True)
            ]
            for pair in zip(order.tolist(), cosines.tolist(), strict=True)
        ]


def normalise_name(name: str) -> str:
    return unicodedata.normalize("NFC", name)


def _make_class_panel(
    model: ZeroShotClassifier,
    table: SignatureTable,
    kinds: Mapping[str, str],
    names: Mapping[str, str],
    candidates: tuple[str, ...] | None,
) -> CandidateScorer:
    if candidates is not None:
        candidates = tuple(name if name in kinds else names.get(normalise_name(name), name) for name in candidates)
        if len(set(candidates)) < len(candidates):
            raise Refusal(422, "candidates names a class twice: name each once")
    unknown = next((name for name in candidates or () if name not in kinds), None)
    if unknown is not None:
        raise unknown_class(unknown, kinds)
    return CandidateScorer(model, table, None if candidates is None else list(candidates))


class ClassRegistry:
    """The current `snapshot`, and the changes to it. Reading needs no lock; changes wait for each other."""

    def __init__(
        self,
        model: ZeroShotClassifier,
        limits: Limits,
        store: ClassStore | None = None,
        sentences: SentenceEncoder | None = None,
    ) -> None:
        self.model = name_classes_by_text(model)
        self.words, self.sentences = Vocabulary(self.model), sentences
        self.store = ClassStore() if store is None else store
        self._limits, self._state, self._data_version = limits, StoredState(-1), -1
        self._described: Mapping[str, ClassDescription] = {}
        self.snapshot: ClassSnapshot
        self.sync()

    @property
    def is_stale(self) -> bool:
        """Whether somebody may have changed something since the snapshot was made."""
        return self.store.data_version != self._data_version

    def sync(self) -> None:
        with self.store.lock:
            seen = self.store.data_version  # before reading: what is changed meanwhile is read the next time
            self._publish(*self._load())
            self._data_version = seen

    def check_writable(self) -> None:
        """Refuse, as a change would be refused, if the database cannot be written."""
        with self.lock_for_change():
            self.store.check_room()

    def describe(self, attributes: Attributes | None, sentence: str | None = None) -> ClassDescription:
        if sentence is None:
            if attributes is None:
                raise Refusal(422, "attributes is missing")
            numbers = {name: float(value) for name, value in attributes.items()}  # true is 1
            vector, defaulted = self.words.make_vector(numbers)
            return ClassDescription(numbers, defaulted, vector)
        if attributes is not None:
            raise Refusal(422, "both attributes and a sentence are given: send one of them")
        if self.sentences is None:
            raise Refusal(
                422,
                f"sentence is {quote(sentence)}: the signatures of this model are not known to be sentence vectors; "
                "give attributes, or start the service with --data and the folder that zskl data make wrote",
            )
        vector = self.sentences.make_vector(sentence)
        numbers = dict(zip(self.words.names, vector.tolist(), strict=True))
        return ClassDescription(numbers, [], vector, sentence=sentence)

    def put(
        self,
        name: str,
        attributes: Attributes | None,
        again: bool,
        since: int | None = None,
        sentence: str | None = None,
    ) -> tuple[ClassSnapshot, str, bool]:
        """Describe a class, `again` if it may exist → the new snapshot, its name there, whether the name is new."""
        name = self.snapshot.resolve_name(name)
        self._check_name(name)
        new = self.describe(attributes, sentence)
        if not new.attributes:
            raise Refusal(422, f"class {quote(name)} has no attributes: describe it by at least one")
        with self.lock_for_change() as snapshot:
            snapshot.check_unchanged(name, since)
            kind = snapshot.kinds.get(name)
            if kind == "added" and not again:
                raise Refusal(409, f"there is already a class {quote(name)}: PUT /classes/NAME changes it")
            if kind in ("seen", "unseen"):
                model_class = f"{quote(name)} is a class of the model file, which stays as it is"
                raise Refusal(409, f"{model_class}: take another name")
            most = self._limits.classes
            if kind is None and len(snapshot.added) >= most:
                raise Refusal(409, f"{most} classes were added already, the most that are allowed: delete some")
            return self.apply_change(class_line(name, new.attributes, sentence), name), name, kind is None

    def delete(self, name: str, since: int | None = None) -> ClassSnapshot:
        with self.lock_for_change() as snapshot:
            name = snapshot.resolve_name(name)
            snapshot.check_unchanged(name, since)
            if snapshot.kinds[snapshot.find_class(name)] != "added":
                raise Refusal(409, f"{quote(name)} is a class of the model file, which stays as it is")
            return self.apply_change(class_line(name, None), name)

    def undo(self, version: int) -> tuple[ClassSnapshot, str]:
        """Undo the change that made a version, if nobody has changed its class since → the snapshot, and the class."""
        with self.lock_for_change():
            found = self.store.undo(version)
            if isinstance(found, str):
                return self._prepare_next(), found
        if found is None:
            raise Refusal(404, f"version {quote(version)} was no change of a class, or too long ago to be undone")
        raise Refusal(409, f"the class was changed again in version {found}: undo that first")

    @contextmanager
    def lock_for_change(self) -> Iterator[ClassSnapshot]:
        """The current snapshot, which nobody else changes meanwhile, in this process or in another one."""
        with self.store.lock:
            with self.store.change():
                self._publish(*self._load())
                self._next = self._state, self.snapshot
                yield self.snapshot
            self._publish(*self._next)

    def apply_change(self, line: Line, name: str | None) -> ClassSnapshot:
        """The snapshot after a change of the class of this name; it is on the disk once `lock_for_change` is left."""
        self.store.write(line, name)
        return self._prepare_next()

    def _prepare_next(self) -> ClassSnapshot:
        self._next = self._load()
        return self._next[1]

    def _check_name(self, name: str) -> None:
        most = self._limits.name_length
        if name in (".", ".."):
            raise Refusal(422, f"the class name is {quote(name)}, a step in an address: take a name with other letters")
        if name.endswith(EXAMPLES_SUFFIX):
            ending = f"{EXAMPLES_SUFFIX}, the address of the examples of a class"
            raise Refusal(422, f"the class name ends in {ending}: take another name")
        if not name.strip() or name != name.strip() or not name.isprintable() or "\ufffd" in name:
            raise Refusal(422, f"the class name is {quote(name)}: expected printable text without blanks at its ends")
        if len(name) > most:
            raise Refusal(422, f"the class name {quote(name, 30)} has {len(name)} letters: expected at most {most}")

    def _publish(self, state: StoredState, snapshot: ClassSnapshot) -> None:
        self._state, self.snapshot, self._described = state, snapshot, snapshot.added

    def _load(self) -> tuple[StoredState, ClassSnapshot]:
        """What is kept now, and the snapshot of it. Descriptions that are known already stay as they are."""
        state, known, found = self.store.read(self._state), self._described, {}
        if state is self._state:
            return state, self.snapshot
        own = set(self.model.classes_.tolist())
        try:
            taught = state.taught.of_classes(state.classes, own)
            check_teaching_fits(self.model, taught)
            for name, one in state.classes.items():
                if name in known and known[name].version == one.version:
                    found[name] = known[name]
                    continue
                self._check_name(name)
                vector, defaulted = self.words.make_vector(one.attributes)
                found[name] = ClassDescription(one.attributes, defaulted, vector, one.version, one.sentence)
                if name in own:
                    raise Refusal(409, f"{quote(name)} is now a class of the model")
            gone = {one.label for one in taught.examples} - {*found, *own}
            if gone:
                raise Refusal(409, f"it has examples of {quote(min(gone))}, which is not a class")
            return state, ClassSnapshot(self.model, found, state.version, taught)
        except (Refusal, ValueError) as error:
            raise ValueError(
                f"{self.store.path} does not fit this model: {error}; name another file by --classes, or write it "
                "by --export-classes and mend its lines"
            ) from None
