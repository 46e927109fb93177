"""Our translators beside others', on the same recordings: what fails, what is not valid, what is lost, said or not.

``python -m lab.translators CORPUS [PAGE]`` installs the others into folders of their own, has each translate what it
says that it translates, judges every result by the same rules and writes the tables of PAGE. The programs that call the
libraries are in ``examples/compare/translators``; nothing is asked over a network but the package registries.
"""
