"""Letters with a mark by language. Letters that Unicode does not take apart, such as ł and ø, are left out."""

from __future__ import annotations

from collections import defaultdict

from zskl.datasets.letters.alphabet import LETTERS, parted
from zskl.parameters import did_you_mean

SMALL = {
    "czech": "áčďéěíňóřšťúůýž",
    "dutch": "éëïóöü",
    "esperanto": "ĉĝĥĵŝŭ",
    "estonian": "äõöšüž",
    "finnish": "äåö",
    "french": "àâçèéêëîïôùûüÿ",
    "german": "äöü",
    "hungarian": "áéíóöőúüű",
    "icelandic": "áéíóöúý",
    "italian": "àèéìòù",
    "latvian": "āčēģīķļņšūž",
    "lithuanian": "ąčėęįšųūž",
    "polish": "ąćęńóśźż",
    "portuguese": "àáâãçéêíóôõú",
    "slovak": "áäčďéíĺľňóôŕšťúýž",
    "spanish": "áéíñóúü",
    "swedish": "äåö",
    "turkish": "çğöşü",
    "welsh": "âêîôûŵŷ",
}
ALONE = {"turkish": "İ"}  # capitals whose small letter has no mark


def of_language(language: str) -> list[str]:
    """The letters with a mark of a language, small and capital, that can be held out.

    If the language has every letter with some mark, as Hungarian has every one with a double acute, the last base
    letter of these stays in training (ű and Ű), or nobody could know the mark.
    """
    key = language.lower()
    if key not in SMALL:
        known = ", ".join(SMALL)
        raise ValueError(f"language is {language!r}{did_you_mean(key, SMALL)}: expected one of {known}; or name none")
    own = {*SMALL[key], *SMALL[key].upper(), *ALONE.get(key, "")}
    bearers: dict[str, list[str]] = defaultdict(list)
    for letter in LETTERS:
        bearers[parted(letter)[1]].append(letter)
    for letters in bearers.values():
        if own.issuperset(letters):
            last = max(parted(letter)[0].lower() for letter in letters)
            own -= {letter for letter in letters if parted(letter)[0].lower() == last}
    return [letter for letter in LETTERS if letter in own]
