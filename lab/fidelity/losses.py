"""Law 8 by a generic diff: compares what a translation changed with the losses that it declared.

``before`` is what A's decoder read, ``after`` what B's decoder reads in B's body; both without fields that no wire has.

- Every leaf of ``before`` that is not blank must be equal in ``after`` at its place, or lie under the path of a Loss.
  Lists are aligned, since a dropped or moved element, or an added turn, shifts what follows.
- A value that is only in ``after`` needs a Loss: one that covers its place, one of kind added in the same list or
  below, one of kind approximated on the list or one of its elements, or one of kind moved for the same content.
- A value that a Loss calls moved must be somewhere in ``after``.
- A Loss is over-declared if the value at its path is unchanged, or if there is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from interlingua.types.base import Json
from interlingua.types.loss import Loss
from lab.fidelity.align import align
from lab.fidelity.tally import Fault
from lab.fidelity.trees import ABSENT, Difference, covers, identical, is_blank, leaves, pattern
from lab.oracles.leaves import is_array, is_object

__all__ = ["Comparison"]

CARRIED = ("text", "data", "url", "file_id", "tool_use_id")
"""The fields of a moved element that must be found somewhere."""
TAGS = ("type", "role", "kind")
"""Fields that are no evidence of where a value came from."""


class Comparison:
    """One request before and after a translation."""

    def __init__(self, before: Json, after: Json, losses: Sequence[Loss]) -> None:
        self.before, self.after, self.losses = before, after, losses
        self.gone = {loss.path for loss in losses if loss.kind in ("dropped", "moved")}
        self.moved = {loss.path: at(before, loss.path) for loss in losses if loss.kind == "moved"}
        self.changed: list[Difference] = []
        self.new: list[Difference] = []
        self.equal: list[str] = []
        self.grown: set[str] = set()
        self._walk(before, after, "")

    def _walk(self, one: Json, other: Json, path: str) -> None:
        if identical(one, other):
            self.equal.append(path)
        elif one is ABSENT:
            self.new.append(Difference(path, one, other))
        elif is_object(one) and is_object(other):
            for key in dict.fromkeys([*one, *other]):
                self._walk(one.get(key, ABSENT), other.get(key, ABSENT), f"{path}/{key}" if path else key)
        elif is_array(one) and is_array(other):
            self._walk_list(one, other, path)
        else:
            self._lost(one, other, path)

    def _walk_list(self, one: list[Json], other: list[Json], path: str) -> None:
        given_up = {index for index in range(len(one)) if f"{path}/{index}" in self.gone}
        for i, j in align(one, other, given_up):
            if i is None and j is not None:
                self.grown.add(path)
                self.new.append(Difference(f"{path}/+", ABSENT, other[j]))
            elif i is not None:
                self._walk(one[i], other[j] if j is not None else ABSENT, f"{path}/{i}")

    def _lost(self, one: Json, other: Json, path: str) -> None:
        for place, leaf in leaves(one, path):
            if not is_blank(leaf):
                self.changed.append(Difference(place, leaf, other if place == path else ABSENT))

    # ---------------------------------------------------------------------------------------------- verdicts

    def undeclared(self) -> list[Fault]:
        """A fault for each leaf that is gone or changed without a Loss."""
        silent = [found for found in self.changed if not self._declared(found.path)]
        faults = [Fault(f"{_what(found)} {pattern(found.path)}", str(found)) for found in silent]
        return [*faults, *self._vanished()]

    def _declared(self, path: str) -> bool:
        return any(loss.path and covers(loss.path, path) for loss in self.losses)

    def _vanished(self) -> Iterator[Fault]:
        """A fault for each text that was declared moved, and is nowhere."""
        found = [text for _, text in texts(self.after)] if self.moved else []
        exact = set(found)
        for root, value in self.moved.items():
            for path, leaf in texts(value, root):
                if path.rsplit("/", 1)[-1] not in CARRIED or leaf in exact or self._dropped(path):
                    continue
                if not any(leaf in text for text in found):
                    yield Fault(f"moved to nowhere {pattern(path)}", f"{path}: {leaf[:80]!r}")

    def _dropped(self, path: str) -> bool:
        return any(loss.kind in ("dropped", "approximated") and covers(loss.path, path) for loss in self.losses)

    def additions(self) -> list[Fault]:
        """A fault for each value that is new without a Loss."""
        return [
            Fault(f"added {pattern(found.path)}", str(found))
            for found in self.new
            if not is_blank(found.after)
            and not self._announced(found.path.removesuffix("/+"))
            and not self._was_moved(found.after)
        ]

    def _announced(self, place: str) -> bool:
        """Whether a Loss covers a place, or the list in which the new value is."""
        for loss in self.losses:
            if loss.path and covers(loss.path, place):
                return True
            depth = loss.path.removeprefix(f"{place}/").count("/") if covers(place, loss.path) else None
            if depth is not None and (loss.kind == "added" or (loss.kind == "approximated" and depth == 0)):
                return True
        return False

    def _was_moved(self, new: Json) -> bool:
        """Whether all texts of a new value are texts of moved values."""
        if new in self.moved.values():
            return True
        added = [text for path, text in texts(new) if path.rsplit("/", 1)[-1] not in TAGS]
        moved = [leaf for value in self.moved.values() for _, leaf in texts(value)] if added else []
        return bool(added) and all(any(text in leaf or leaf in text for leaf in moved) for text in added)

    def over_declared(self) -> list[Fault]:
        """A fault for each Loss of a value that is unchanged, or that never existed."""
        return [
            Fault(f"{why}: {loss.kind} {pattern(loss.path)}", f"{loss.path}: {loss.reason}")
            for loss in self.losses
            if (why := self._idle(loss)) is not None
        ]

    def _idle(self, loss: Loss) -> str | None:
        held = at(self.before, loss.path)
        if loss.kind == "added":
            grew = any(covers(path, loss.path) for path in self.grown)
            came = any(covers(loss.path, found.path) or covers(found.path, loss.path) for found in self.new)
            return None if grew or came or not self._through(loss.path) else "nothing was added"
        if held is ABSENT:
            return "no such place"
        if is_blank(held):
            return "nothing to lose"
        return "came through" if self._through(loss.path) and not self._passed(loss) else None

    def _passed(self, loss: Loss) -> bool:
        """Whether a Loss is for one of two elements that changed places: the alignment sees only one as moved."""
        home = loss.path.rpartition("/")[0]
        beside = [path for path in self.moved if path.rpartition("/")[0] == home and path != loss.path]
        return loss.kind == "moved" and any(not self._through(path) for path in beside)

    def _through(self, path: str) -> bool:
        return any(covers(root, path) for root in self.equal)


def _what(found: Difference) -> str:
    return "lost" if found.after is ABSENT else "changed"


def texts(value: Json, path: str = "") -> Iterator[tuple[str, str]]:
    """The strings of a value that are not empty, with their places."""
    return ((place, leaf) for place, leaf in leaves(value, path) if isinstance(leaf, str) and leaf)


def at(value: Json, path: str) -> Json:
    """The value at a path; ABSENT if there is none. A key may have slashes."""
    if not path:
        return value
    if is_array(value):
        step, _, rest = path.partition("/")
        return at(value[int(step)], rest) if step.isdigit() and int(step) < len(value) else ABSENT
    if is_object(value):
        for key in value:
            if path == key or path.startswith(f"{key}/"):
                found = at(value[key], path[len(key) + 1 :])
                if found is not ABSENT:
                    return found
    return ABSENT
