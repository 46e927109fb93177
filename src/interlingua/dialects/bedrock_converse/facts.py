"""Facts of Bedrock Converse that no row states: its name, limits, and the names and formats that the service takes."""

from __future__ import annotations

import re

from ...codec.tools.ids import IdRule
from ...codec.tools.tool_names import NameRule

NAME = "bedrock-converse"
NAMES = NameRule("a-zA-Z0-9_-", 64)
IDS = IdRule(re.compile(r"[a-zA-Z0-9_.:-]{1,64}"), prefix="tooluse_", length=22)
# https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_DocumentBlock.html; underscores as recorded.
DOCUMENT_NAME = re.compile(r"(?:[a-zA-Z0-9_()\[\]-]| (?! )){1,200}")
TAG = re.compile(r"[a-zA-Z0-9\s:_@$#=/+,\-.]{0,256}")
MOST_TAGS = 16
SERVER_CALL = "server_tool_use"
"""The type of a call that the service itself runs."""

# ------------------------------------------------------------------------------------------------------------- formats

UNKNOWN = "application/octet-stream"
"""The media type of data that came without a format."""
OFFICE = "application/vnd.openxmlformats-officedocument."
# fmt: off
FORMATS: dict[str, dict[str, str]] = {  # by block: format word -> media type; the first word of a media type is written
    "image": {"png": "image/png", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"},
    "document": {"pdf": "application/pdf", "csv": "text/csv", "doc": "application/msword",
                 "docx": f"{OFFICE}wordprocessingml.document", "xls": "application/vnd.ms-excel",
                 "xlsx": f"{OFFICE}spreadsheetml.sheet", "html": "text/html", "txt": "text/plain",
                 "md": "text/markdown"},
    "video": {"mkv": "video/x-matroska", "mov": "video/quicktime", "mp4": "video/mp4", "webm": "video/webm",
              "flv": "video/x-flv", "mpeg": "video/mpeg", "mpg": "video/mpeg", "wmv": "video/x-ms-wmv",
              "three_gp": "video/3gpp"},
    "audio": {"mp3": "audio/mpeg", "opus": "audio/opus", "wav": "audio/wav", "aac": "audio/aac", "flac": "audio/flac",
              "mp4": "audio/mp4", "ogg": "audio/ogg", "mkv": "audio/x-matroska", "mka": "audio/x-matroska",
              "x-aac": "audio/x-aac", "m4a": "audio/m4a", "mpeg": "audio/mpeg", "mpga": "audio/mpeg",
              "pcm": "audio/pcm", "webm": "audio/webm"},
}
OTHER_TYPES = {  # other names of the same media types
    "image/jpg": "jpeg", "audio/mp3": "mp3", "audio/x-wav": "wav", "audio/wave": "wav", "audio/x-m4a": "m4a",
    "audio/l16": "pcm", "video/3gp": "three_gp", "video/mov": "mov", "video/wmv": "wmv", "video/mpg": "mpg",
    "video/x-m4v": "mp4", "text/x-markdown": "md",
}
EXTENSIONS = {"jpg": "jpeg", "3gp": "three_gp", "htm": "html"}
"""File name extensions that differ from the word for their format."""
# fmt: on
WORDS: dict[str, dict[str, str]] = {
    block: {media_type: word for word, media_type in reversed(words.items())} for block, words in FORMATS.items()
}
