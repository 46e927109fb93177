"""Measure how many small faults the tests find: change the source at one place, run the tests that cover it.

``python -m lab.mutants --help`` says how. A *mutant* is the source with one change. It is *killed* when a chosen test
fails, and it *survives* when all of them pass. The source files are never written: the changed module is compiled from
its syntax tree inside the process that runs the tests.
"""
