"""Counters of one process, in the text form that Prometheus reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

__all__ = ["HELP", "Labels", "Metrics", "Sums"]

HELP = {
    # name: type, what it counts
    "interlingua_requests_total": (
        "counter",
        "Calls that were answered, by dialect, way and status.",
    ),
    "interlingua_open_requests": ("gauge", "Calls that are being answered."),
    "interlingua_tokens_total": ("counter", "Tokens, by kind."),
    "interlingua_cost_usd_total": ("counter", "Dollars, of calls whose price is known."),
    "interlingua_losses_total": ("counter", "What translations could not say, by weight."),
    "interlingua_left_total": ("counter", "Clients that left before their answer was complete."),
}

Labels = tuple[tuple[str, str], ...]
Sums = dict[str, dict[str, float]]
"""By name, then by labels as they are written."""


class Metrics:
    """Sums, by name and labels."""

    def __init__(self) -> None:
        self._sums: dict[str, dict[Labels, float]] = {name: {} for name in HELP}
        self._before: Sums = {}

    def add(self, name: str, amount: float = 1, **labels: str) -> None:
        """Count something."""
        self.count(name, tuple(labels.items()), amount)

    def count(self, name: str, labels: Labels, amount: float = 1) -> None:
        """The same with labels that are put together already."""
        sums = self._sums[name]
        sums[labels] = sums.get(labels, 0) + amount

    def set(self, name: str, amount: float) -> None:
        """Write down how much there is of something."""
        self._sums[name] = {(): amount}

    def sums(self) -> Sums:
        """All of them, for other processes."""
        own = {name: {_labels(dict(key)): amount for key, amount in sums.items()} for name, sums in self._sums.items()}
        return _added([self._before, own])

    def resume(self, before: Sums) -> None:
        """Count on from where another process stopped. What it had open is gone with it."""
        self._before = {name: sums for name, sums in before.items() if name in HELP and HELP[name][0] == "counter"}

    def text(self, others: Iterable[Sums] = ()) -> str:
        """All of them, added to those of other processes, for ``/metrics``."""
        lines: list[str] = []
        for name, sums in _added([self.sums(), *others]).items():
            kind, about = HELP[name]
            lines += [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]
            lines += [f"{name}{labels} {amount:.12g}" for labels, amount in sums.items()]
        return "\n".join(lines) + "\n"


def _added(several: Iterable[Sums]) -> Sums:
    total: Sums = {name: {} for name in HELP}
    for sums in several:
        for name, amounts in sums.items():
            for labels, amount in amounts.items():
                total[name][labels] = total[name].get(labels, 0) + amount
    return total


def _labels(labels: Mapping[str, str]) -> str:
    told = ",".join(f'{name}="{value}"' for name, value in labels.items())
    return f"{{{told}}}" if told else ""
