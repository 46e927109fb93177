"""Base64 as servers accept it: two alphabets, padded or not. We write the standard alphabet, padded."""

from __future__ import annotations

__all__ = ["is_base64", "standard_base64"]

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
STANDARD, URL_SAFE = f"{LETTERS}+/".encode(), f"{LETTERS}-_".encode()
TO_STANDARD = str.maketrans("-_", "+/")
LAST = {1: f"{LETTERS}+/"[::4] + f"{LETTERS}-_"[::4], 2: f"{LETTERS}+/"[::16] + f"{LETTERS}-_"[::16]}
"""The digits that may end base64 which lacks one or two digits of a group: their unused bits are 0."""


def is_base64(text: str) -> bool:
    """Whether servers read the text as base64: one of the two alphabets, padded or not, unused bits 0."""
    if not text.isascii():
        return False
    digits = text.rstrip("=")
    missing, data = -len(digits) % 4, digits.encode()
    if len(text) - len(digits) > missing or missing == 3:
        return False
    if data.translate(None, STANDARD) and data.translate(None, URL_SAFE):
        return False
    return not missing or digits[-1] in LAST[missing]


def standard_base64(data: str) -> str:
    """Data in the standard alphabet, padded."""
    if "-" not in data and "_" not in data and len(data) % 4 == 0:
        return data
    return data.translate(TO_STANDARD) + "=" * (-len(data) % 4)
