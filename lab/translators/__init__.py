"""Compares our translators with others on the same recordings: failures, invalid results, declared and silent losses.

``python -m lab.translators CORPUS [PAGE]`` installs the others into folders of their own, has each translate the pairs
that it documents, judges every result by the same rules and writes the tables of PAGE. The programs that call the
libraries are in ``examples/compare/translators``; the network is used only for the package registries.
"""
