"""The fidelity report: replays every recorded exchange of a directory through every dialect, and counts what changes.

``python -m lab.fidelity CORPUS_DIR`` measures each dialect on its own traffic (decoding, exact round
trips, edits, streams, errors, usage, residue) and each ordered pair of dialects (translation, validity, losses). All of
it is generic over ``DIALECTS``: the tables here know places on the wire, but not how a dialect works.
"""

from lab.fidelity.bars import Verdict, verdicts
from lab.fidelity.run import Options, Report, measure

__all__ = ["Options", "Report", "Verdict", "measure", "verdicts"]
