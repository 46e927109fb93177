"""Dialects by name: built in, registered, or added by an entry point of another package."""

from __future__ import annotations

import importlib.metadata

import pytest

from interlingua import DIALECTS, dialect, register_dialect
from interlingua.codec.registry import ENTRY_POINTS, _registered
from interlingua.dialects.ollama import Ollama


def test_an_unknown_name_names_the_known():
    with pytest.raises(ValueError, match="no dialect is called 'klingon'; known: anthropic-messages"):
        dialect("klingon")


def test_an_entry_point_brings_a_dialect(monkeypatch):
    point = importlib.metadata.EntryPoint("llama-speak", "interlingua.dialects.ollama:Ollama", ENTRY_POINTS)

    def entry_points(*, group, name):
        return [point] if (group, name) == (ENTRY_POINTS, "llama-speak") else []

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    assert isinstance(dialect("llama-speak", provider="me"), Ollama)
    assert dialect("llama-speak", provider="me").provider == "me"
    monkeypatch.delitem(_registered, "llama-speak")


def test_a_registered_dialect_is_listed(monkeypatch):
    monkeypatch.setattr("interlingua.codec.registry.DIALECTS", dict(DIALECTS))
    register_dialect("mine", Ollama)
    assert isinstance(dialect("mine"), Ollama)
    monkeypatch.delitem(_registered, "mine")


def test_the_six_are_there():
    assert list(DIALECTS)[:2] == ["anthropic-messages", "openai-chat"]
    assert {"openai-responses", "gemini", "ollama", "bedrock-converse"} <= set(DIALECTS)
