"""``interlingua completion``: writes the completion script of a shell, made from the parsers of the commands."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from importlib import import_module

from .parsing import add_json, parser_for

__all__ = ["add_arguments", "run", "script"]

EXAMPLES = """examples:
  interlingua completion bash > ~/.interlingua.bash      then `source` it in .bashrc
  interlingua completion zsh > ~/.zfunc/_interlingua            (with fpath+=~/.zfunc before compinit)
  interlingua completion fish > ~/.config/fish/completions/interlingua.fish
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.usage = "interlingua completion bash|zsh|fish"
    parser.epilog = EXAMPLES
    parser.add_argument("shell", choices=tuple(SHELLS), metavar="SHELL", help=", ".join(SHELLS))
    add_json(parser, "the commands and their options as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Write the script, or the options as JSON."""
    from .output import write_json, write_line

    if arguments.json:
        write_json({name: sorted(word for option in options(name) for word in option[0]) for name in summaries()})
    else:
        write_line(script(arguments.shell).rstrip())
    return 0


Option = tuple[list[str], bool, str]
"""The words of an option, whether it takes a value, and its help."""


def summaries() -> dict[str, str]:
    """Each command with its line of the help."""
    from .app import available

    return {name: row.summary for name, row in available().items()}


def options(name: str) -> Iterator[Option]:
    """The options of a command, read from its parser."""
    from .app import COMMANDS

    row = COMMANDS[name]
    parser = parser_for(name, row.summary, import_module(f"interlingua.{row.module}"))
    for action in parser._actions:  # argparse has no public way to list them
        if action.option_strings:
            yield list(action.option_strings), action.nargs != 0, action.help or ""


def script(shell: str) -> str:
    """The completion script for a shell."""
    return SHELLS[shell]()


def _bash() -> str:
    cases: list[str] = []
    for name in summaries():
        words = " ".join(word for found, _, _ in options(name) for word in found)
        cases.append(f'        {name}) words="{words}" ;;')
    lines = [
        "_interlingua() {",
        '    local current="${COMP_WORDS[COMP_CWORD]}" words=""',
        '    if [ "$COMP_CWORD" -eq 1 ]; then',
        f'        COMPREPLY=($(compgen -W "{" ".join(summaries())} --help --version" -- "$current"))',
        "        return",
        "    fi",
        '    case "${COMP_WORDS[1]}" in',
        *cases,
        "    esac",
        '    case "$current" in -*) COMPREPLY=($(compgen -W "$words" -- "$current")) ;; esac',
        "}",
        "complete -o default -F _interlingua interlingua",
    ]
    return "\n".join(lines)


def _zsh() -> str:
    lines = ["#compdef interlingua", "", "_interlingua() {", "    local -a commands", "    commands=("]
    lines += [f"        {_quoted(name + ':' + summary)}" for name, summary in summaries().items()]
    lines += [
        "    )",
        "    if (( CURRENT == 2 )); then",
        "        _describe command commands",
        "        return",
        "    fi",
    ]
    lines += ["    case $words[2] in"]
    for name in summaries():
        specs = [_quoted(_zsh_option(word, value, text)) for found, value, text in options(name) for word in found]
        lines += [f"        {name}) _arguments {' '.join(specs)} '*:file:_files' ;;"]
    return "\n".join([*lines, "    esac", "}", "", "compdef _interlingua interlingua"])


def _zsh_option(word: str, value: bool, text: str) -> str:
    escaped = "".join(f"\\{letter}" if letter in "[]:\\" else letter for letter in text)
    return f"{word}[{escaped}]{':value:_files' if value else ''}"


def _fish() -> str:
    lines = [
        f"complete -c interlingua -n __fish_use_subcommand -a {name} -d {_quoted(summary)}"
        for name, summary in summaries().items()
    ]
    for name in summaries():
        for found, value, text in options(name):
            words = " ".join(f"-l {word[2:]}" if word.startswith("--") else f"-s {word[1:]}" for word in found)
            needs = " -r" if value else ""
            seen = _quoted(f"__fish_seen_subcommand_from {name}")
            lines.append(f"complete -c interlingua -n {seen} {words}{needs} -d {_quoted(text)}")
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "’") + "'"


SHELLS = {"bash": _bash, "zsh": _zsh, "fish": _fish}
