"""Groups of attributes from their names."""

import pytest

from zskl.signatures.groups import attribute_groups


@pytest.mark.parametrize(
    ("names", "groups"),
    [
        (["has_bill::hooked", "has_bill::dagger", "has_size::small"], {"has_bill": (0, 1), "has_size": (2,)}),
        (["wing:red", "size", "wing:blue"], {"wing": (0, 2), "size": (1,)}),
        (["has_wing_red", "has_wing_blue", "has_size_small"], {"has_wing": (0, 1), "has_size": (2,)}),
        (["bill_long_curved", "bill_short", "tail_short"], {"bill": (0, 1), "tail": (2,)}),
        (["att_1", "att_2"], {"att_1": (0,), "att_2": (1,)}),  # one group of all says nothing
        (["black", "new_world"], {"black": (0,), "new_world": (1,)}),
    ],
)
def test_groups(names, groups):
    assert attribute_groups(names) == groups
