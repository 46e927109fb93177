"""Recorded streams cut anywhere, and proof that nothing unfinished in them looks finished afterwards.

``python -m lab.cuts CORPUS_DIR`` cuts every recorded stream at many places, reads what is left with our
decoder, writes the events with every dialect's stream encoder, and compares what the written bytes finish with what the
recorded bytes had finished before the cut. Both sides are read by ``frames`` and ``words``, which share no code with
the dialects.
"""
