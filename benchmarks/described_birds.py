"""How well the page understands birds that are described in the manner of field guides: `bird_descriptions.json`, a
hundred descriptions that were written from the species' names before the words of the page were worked on.

Run: python benchmarks/described_birds.py MODEL [--half work|kept] [--words]
The model is any that was fitted on CUB with its attributes, such as zskl fit CUB --method class-means -o MODEL. Nothing
but its class table is asked. Words are content words: all but those of FUNCTION_WORDS, which name nothing in any
language of birds. A word is understood if it is part of what an attribute was set by. The right species is found if it
is among the first ten of the 200 that fit. "kept" descriptions are for the end: do not choose words by them.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

import numpy as np

import zskl
from zskl.serve.classes import name_classes_by_text
from zskl.serve.limits import Limits
from zskl.serve.schemas import Sought
from zskl.serve.service import Service
from zskl.serve.vocabulary import WORD

FUNCTION_WORDS = """
a an the and or but with without no not of in on at to by from for as than like it its is are was be has have that this
which all any other others over so some just around through into between very rather quite
"""
FILE = Path(__file__).with_name("bird_descriptions.json")


def measure(service: Service, descriptions: list[dict[str, str]], show: bool) -> None:
    understood = total = 0
    ranks, missed = [], Counter[str]()
    for one in descriptions:
        words = [word.lower() for word in WORD.findall(one["description"]) if any(map(str.isalnum, word))]
        content = [word for word in words if word not in FUNCTION_WORDS.split()]
        found = service.classes.words.understand(one["description"])
        used = Counter(word for words in {one["words"] for one in found["attributes"]} for word in words.split())
        lost = list((Counter(content) - used).elements())
        heard = len(content) - len(lost)
        missed.update(lost)
        understood, total = understood + heard, total + len(content)
        given = {named["attribute"]: named["value"] for named in found["attributes"]}
        described = service.classes.describe(given, None)
        fits = service.find_fitting_classes(described, Sought(top=1000, rows=0))["classes"]
        ranks.append([fit["class"] for fit in fits].index(one["species"]) + 1)
        if show:
            print(f"{ranks[-1]:4} {one['species']}: {one['description']}")
            print("     not understood:", *lost)
            said: dict[str, list[str]] = {}
            for named in found["attributes"]:
                said.setdefault(named["words"], []).append(f"{named['attribute']}={named['value']:.0f}")
            for words_, names in said.items():
                print(f"       {words_}: {', '.join(names)}")
    if show:
        print(missed.most_common())
    firsts = ", ".join(f"{np.mean(np.array(ranks) <= top):.0%} among the first {top}" for top in (1, 5, 10))
    print(f"{len(ranks)} descriptions: {understood} of {total} content words understood ({understood / total:.1%})")
    print(f"the right species: {firsts}; median rank {np.median(ranks):g} of {len(service.snapshot.kinds)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--half", choices=("work", "kept"), default="work")
    parser.add_argument("--words", action="store_true", help="show each description and what was made of it")
    options = parser.parse_args()
    chosen = [one for one in json.loads(FILE.read_text("utf-8"))["descriptions"] if one["half"] == options.half]
    measure(Service(name_classes_by_text(zskl.load(options.model)), "birds", Limits()), chosen, options.words)


if __name__ == "__main__":
    main()
