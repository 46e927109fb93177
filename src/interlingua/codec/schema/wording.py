"""Moving into the description what a schema may not have as keywords."""

from interlingua.codec.schema.walk import Schema

# Keywords that mean nothing to a model, or repeat others (`discriminator`: the constants of the branches).
UNMENTIONED = frozenset(
    ("$schema", "$id", "$anchor", "$comment", "$defs", "definitions", "components", "discriminator", "title")
)


RETITLED = "sent the title as the description"


def retitled(node: Schema, dropped: list[str], at: str) -> Schema:
    """``node`` with a dropped title as its description, if it has none; not at the root, whose title is only a name."""
    title = node.get("title")
    if at == "#" or "title" not in dropped or "description" in node or not (isinstance(title, str) and title):
        return node
    dropped.remove("title")
    rest = {key: value for key, value in node.items() if key != "title"}
    return {**rest, "description": title}


_DEEP = (dict, list)


def needs_no_mention(word: str, value: object) -> bool:
    """Whether a keyword can be dropped without a mention in the description."""
    if word in ("additionalProperties", "unevaluatedProperties"):
        return isinstance(value, bool)
    if word in UNMENTIONED or value is None:
        return True
    return not value and isinstance(value, _DEEP) and word not in ("default", "not")


def described(node: Schema, note: str) -> Schema:
    """``node`` with ``note`` at the end of its description."""
    before = node.get("description")
    return {**node, "description": f"{before}\n\n{note}" if before else note}


def folded(node: Schema, words: list[str]) -> Schema:
    """``node`` with the keywords ``words`` in its description instead, in the notation of Anthropic's SDK."""
    text = ", ".join([f"{word}: {_value_text(node[word])}" for word in words])
    rest = node.copy()
    for word in words:
        del rest[word]
    before = rest.get("description")
    rest["description"] = f"{before}\n\n{{{text}}}" if before else f"{{{text}}}"
    return rest


def _value_text(value: object) -> str:
    if type(value) is int:  # nearly all of them are bounds
        return str(value)
    if isinstance(value, str):
        return value
    import json  # noqa: PLC0415 - slow to import, and rarely needed

    return json.dumps(value, ensure_ascii=False)
