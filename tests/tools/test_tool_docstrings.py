"""What a docstring says of parameters, in the three styles people write."""

from __future__ import annotations

import pytest

from interlingua.codec.typed.docstrings import read_docstring

GOOGLE = """Reads a file.

    It is read whole.

    Args:
        path (str): The file,
            from the root.
        limit (Optional[Tuple[int, str]], optional): Most lines: all of them by default.
        *rest: More.
        mode:
            How to open it:
            - r to read
            - w to write

            No other.

    Returns:
        str: The text.

    Raises:
        OSError: if it is not there.
    """

NUMPY = """
    Reads a file.

    Parameters
    ----------
    path : str
        The file,
        from the root.
    a, b : int, optional
        Two numbers.
    undescribed

    Returns
    -------
    str
        The text.
    """

REST = """Reads a file.

    :param path: The file,
        from the root.
    :type path: str
    :param int limit: Most lines.
    :param dict[str, int] sizes: By name.
    :returns: The text.
    :raises OSError: if it is not there.
    """

# fmt: off
STYLES = (
    # the docstring, its text, its parameters
    (GOOGLE,
     "Reads a file.\n\nIt is read whole.\n\nReturns:\n    str: The text.\n\nRaises:\n    OSError: if it is not there.",
     {"path": "The file, from the root.", "limit": "Most lines: all of them by default.", "rest": "More.",
      "mode": "How to open it: \n- r to read \n- w to write \n\nNo other."}),
    (NUMPY, "Reads a file.\n\nReturns\n-------\nstr\n    The text.",
     {"path": "The file, from the root.", "a": "Two numbers.", "b": "Two numbers."}),
    (REST, "Reads a file.\n\n:returns: The text.\n:raises OSError: if it is not there.",
     {"path": "The file, from the root.", "limit": "Most lines.", "sizes": "By name."}),
    ("One line.", "One line.", {}),
    ("", "", {}),
    (None, "", {}),
    ("\nArgs:\n    x: Only this.", "", {"x": "Only this."}),
    ("\nKeyword Args:\n    x: By name.\nOther text.", "Other text.", {"x": "By name."}),
    ("Sums up.\n\nArguments:\n    x: One.\n\n    y: Two, after a blank.", "Sums up.",
     {"x": "One.", "y": "Two, after a blank."}),
    ("\nArgs:\n    x: A line that is\n    not indented further.", "", {"x": "A line that is not indented further."}),
    ("\nAttributes:\n    x: Of a class.", "", {"x": "Of a class."}),
    ("Mixed.\n\n:param x: One.\n\nArgs:\n    y: Two.", "Mixed.", {"x": "One.", "y": "Two."}),
    ("Parameters\n----------\nx : int\n    One.\nThis is prose: it ends the list.", "This is prose: it ends the list.",
     {"x": "One."}),
    # what only looks like it stays in the text
    ("The Parameters\nare few.", "The Parameters\nare few.", {}),
    ("Args: none to speak of.", "Args: none to speak of.", {}),
    ("\nArgs:\n    nothing that is an entry", "Args:\n    nothing that is an entry", {}),
    ("Parameters of it\n----------------\nx", "Parameters of it\n----------------\nx", {}),
    ("Say `:param x:` to describe.", "Say `:param x:` to describe.", {}),
)
# fmt: on


@pytest.mark.parametrize(("doc", "text", "parameters"), STYLES)
def test_a_docstring_is_read(doc, text, parameters):
    found = read_docstring(doc)
    assert found.text == text
    assert found.parameters == parameters
