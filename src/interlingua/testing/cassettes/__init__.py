"""Cassettes: record a client's exchanges once, then play them back without a network and without a key.

Only the transport is wrapped; everything above it is real: translation, framing, retries, cancellation. The file is
plain JSON that can be read in a review: bodies as JSON, streams as lines of text, keys as asterisks.

    with Cassette("cassettes/weather.json") as tape:
        client = Client("openai", config, transport=tape.transport())
"""

from .matching import Difference
from .recording import Asked, CassetteError, Problem, Recording, Told
from .tape import Cassette, Mode, UnusedRecordings

__all__ = [
    "Asked",
    "Cassette",
    "CassetteError",
    "Difference",
    "Mode",
    "Problem",
    "Recording",
    "Told",
    "UnusedRecordings",
]
