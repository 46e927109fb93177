"""Cuts recorded streams anywhere, and checks that nothing unfinished in them looks finished afterwards.

``python -m lab.cuts CORPUS_DIR`` cuts every recorded stream at many places, reads the beginning with our decoder,
writes the events with every dialect's stream encoder, and compares the blocks that are finished in the written bytes
with those that were finished in the recorded bytes before the cut. Both are read by ``frames`` and ``words``, which
share no code with the dialects.
"""
