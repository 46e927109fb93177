"""Counters of one process, in the text form that Prometheus reads."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["Metrics"]

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


class Metrics:
    """Sums, by name and labels."""

    def __init__(self) -> None:
        self._sums: dict[str, dict[Labels, float]] = {name: {} for name in HELP}

    def add(self, name: str, amount: float = 1, **labels: str) -> None:
        """Count something."""
        sums, key = self._sums[name], tuple(labels.items())
        sums[key] = sums.get(key, 0) + amount

    def set(self, name: str, amount: float) -> None:
        """Write down how much there is of something."""
        self._sums[name] = {(): amount}

    def text(self) -> str:
        """All of them, for ``/metrics``."""
        lines: list[str] = []
        for name, sums in self._sums.items():
            kind, about = HELP[name]
            lines += [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]
            lines += [f"{name}{_labels(dict(labels))} {amount:.12g}" for labels, amount in sums.items()]
        return "\n".join(lines) + "\n"


def _labels(labels: Mapping[str, str]) -> str:
    told = ",".join(f'{name}="{value}"' for name, value in labels.items())
    return f"{{{told}}}" if told else ""
