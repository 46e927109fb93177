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
"""The sums by name, then by labels in their text form."""


class Metrics:
    """Counts events: one sum for each name and set of labels."""

    def __init__(self) -> None:
        self._sums: dict[str, dict[Labels, float]] = {name: {} for name in HELP}
        self._before: Sums = {}

    def add(self, name: str, amount: float = 1, **labels: str) -> None:
        """Add an amount to a sum."""
        self.count(name, tuple(labels.items()), amount)

    def count(self, name: str, labels: Labels, amount: float = 1) -> None:
        """Add an amount to a sum whose labels are already a tuple."""
        sums = self._sums[name]
        sums[labels] = sums.get(labels, 0) + amount

    def set(self, name: str, amount: float) -> None:
        """Set a sum without labels to a value."""
        self._sums[name] = {(): amount}

    def sums(self) -> Sums:
        """All sums, in a form that other processes can read."""
        own = {name: {_labels(dict(key)): amount for key, amount in sums.items()} for name, sums in self._sums.items()}
        return _add_up([self._before, own])

    def resume(self, before: Sums) -> None:
        """Add the counters of an ended process, which this one replaces. Its gauges are not kept."""
        self._before = {name: sums for name, sums in before.items() if name in HELP and HELP[name][0] == "counter"}

    def text(self, others: Iterable[Sums] = ()) -> str:
        """The text of ``/metrics``: all sums, added to those of other processes."""
        lines: list[str] = []
        for name, sums in _add_up([self.sums(), *others]).items():
            kind, about = HELP[name]
            lines += [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]
            lines += [f"{name}{labels} {amount:.12g}" for labels, amount in sums.items()]
        return "\n".join(lines) + "\n"


def _add_up(processes: Iterable[Sums]) -> Sums:
    total: Sums = {name: {} for name in HELP}
    for sums in processes:
        for name, amounts in sums.items():
            for labels, amount in amounts.items():
                total[name][labels] = total[name].get(labels, 0) + amount
    return total


def _labels(labels: Mapping[str, str]) -> str:
    text = ",".join(f'{name}="{value}"' for name, value in labels.items())
    return f"{{{text}}}" if text else ""
