"""The losses of another dialect's fields: those that are cached equal those that are made anew."""

from __future__ import annotations

import random
from typing import Any

from interlingua.codec import ledger as module
from interlingua.types import Loss

KEYS = (*module.DEFAULTS, *module.NOTES, *module.KEPT_BY_SERVER, *module.LABELS, "role", "usage", "x", "y" * 70)
VALUES: tuple[Any, ...] = (
    *(1, 0, True, False, 0.0, 1.5, "", "a", None, [], {}, [None], ["x"]),
    *({"a": 1}, {"a": None}, {"n": 1}, {"service_tier": "s", "geo": "x"}, {"a": {"b": 1}}, {"k" * 70: 1}),
)


def made_anew(place: tuple[str | int, ...], key: str, value: Any) -> Loss:
    path = "/".join(map(str, (*place, "extras", "d", key)))
    reason, weight = module._untranslated("d", key, value), module._weight(key, value, whole=not place)
    return Loss(path, "dropped", reason, weight)


def test_a_cached_loss_equals_one_made_anew() -> None:
    chance = random.Random(3)
    for _ in range(5_000):
        inner = {chance.choice(KEYS): chance.choice(VALUES) for _ in range(chance.randrange(10))}
        key, value = chance.choice(KEYS), chance.choice((chance.choice(VALUES), inner))
        for place in ((), ("content", 0)):
            if not module.is_blank(value):
                assert module._lost_residue(place, "d", key, value) == made_anew(place, key, value), (key, value)
    assert module._lost_field.cache_info().hits > 100
