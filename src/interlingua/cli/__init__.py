"""The command ``interlingua``. Each subcommand is a module here that is loaded when it is asked for.

A module of a subcommand has two functions: ``add_arguments(parser)`` describes it, ``run(arguments)`` does it and may
return an exit code. With a third, ``hand_on(arguments, words)``, it takes what stands behind ``--``. ``app.py`` has the
table of them.
"""
