"""The command ``interlingua``. Each subcommand is a module that is imported only when it is called.

Such a module has two functions: ``add_arguments(parser)`` describes the command line, ``run(arguments)`` runs the
subcommand and may return an exit code. A third one, ``hand_on(arguments, words)``, is needed if words may follow
``--``. The table of subcommands is in ``app.py``.
"""
