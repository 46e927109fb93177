"""Synonyms in general computing English. Words of particular tools are not here."""

from __future__ import annotations

from .stemming import stem

__all__ = ["SYNONYMS"]

# Each line is a group of synonyms. A word may be in several groups.
_GROUPS = """
    folder directory dir
    file document
    picture image photo screenshot png jpg jpeg gif
    movie video clip
    sound audio voice recording
    spreadsheet excel xlsx csv
    chart plot graph diagram
    url link address
    website site web page internet online http https browser
    email mail
    reminder remind alarm timer schedule cron calendar recurring
    appointment meeting event calendar
    terminal shell console bash command prompt
    repository repo git
    script program code source
    package library dependency module
    function method procedure
    database sql table
    bug issue problem defect
    error failure fail exception
    todo checklist task step
    job process task
    plugin extension addon
    agent subagent assistant worker
    user person people customer
    goal objective target aim
    log output stdout
    weather forecast temperature
    place location city
    price cost
    create make generate build new add
    delete remove erase discard
    edit change modify update alter
    replace substitute rename swap
    find search look locate lookup query
    list show display
    view look see inspect
    read open content
    write save store
    get fetch retrieve download
    run execute launch start invoke call
    stop cancel kill abort terminate quit end exit close
    pause wait sleep delay
    continue resume restart
    check test verify validate
    watch monitor observe track follow
    send notify tell inform deliver
    ask question clarify
    answer reply respond response
    delegate assign transfer
    plan design outline
    explain describe summarize summarise summary
    compute calculate calculator math arithmetic
    enable activate
    disable deactivate
    finish complete done
    improve enhance
    fix repair correct
""".strip().splitlines()


def _synonyms() -> dict[str, frozenset[str]]:
    made: dict[str, set[str]] = {}
    for line in _GROUPS:
        group = {stem(word) for word in line.split()}
        for word in group:
            made.setdefault(word, set()).update(group - {word})
    return {word: frozenset(others) for word, others in made.items()}


SYNONYMS = _synonyms()
"""For each stem, the stems of its synonyms."""
