"""What a user says: text, pictures, documents, sound, film, and cache marks on them."""

from __future__ import annotations

from interlingua import (
    AudioBlock,
    Base64Source,
    Block,
    CacheMark,
    DocumentBlock,
    FileSource,
    ImageBlock,
    Message,
    Role,
    TextBlock,
    TextSource,
    UrlSource,
    VideoBlock,
)
from pairs.check import check, lossy

PNG, PDF, WAV, MP4 = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB", "JVBERi0xLjQK", "UklGRiQAAABXQVZF", "AAAAIGZ0eXBpc29t"

# The same turn with the text alone, where the rest has no word.
SEE_STRING = {"role": "user", "content": "see"}
SEE_TYPED = {"role": "user", "content": [{"type": "text", "text": "see"}]}
SEE_INPUT = {"role": "user", "content": [{"type": "input_text", "text": "see"}]}
SEE_BARE = {"role": "user", "content": [{"text": "see"}]}


def user(*blocks: Block) -> Message:
    return Message(Role.user, blocks)


def see(block: Block) -> Message:
    return user(TextBlock("see"), block)


def test_text() -> None:
    check(
        user(TextBlock("hello")),
        anthropic_messages={"role": "user", "content": [{"type": "text", "text": "hello"}]},
        openai_chat={"role": "user", "content": "hello"},
        openai_responses={"role": "user", "content": [{"type": "input_text", "text": "hello"}]},
        gemini={"role": "user", "parts": [{"text": "hello"}]},
        ollama={"role": "user", "content": "hello"},
        bedrock_converse={"role": "user", "content": [{"text": "hello"}]},
    )


def test_adjacent_texts_are_not_merged() -> None:
    check(
        user(TextBlock("one"), TextBlock("two")),
        anthropic_messages={
            "role": "user",
            "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}],
        },
        openai_chat={"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]},
        openai_responses={
            "role": "user",
            "content": [{"type": "input_text", "text": "one"}, {"type": "input_text", "text": "two"}],
        },
        gemini={"role": "user", "parts": [{"text": "one"}, {"text": "two"}]},
        ollama=lossy({"role": "user", "content": "one\n\ntwo"}, "content/0 approximated", "content/1 approximated"),
        bedrock_converse={"role": "user", "content": [{"text": "one"}, {"text": "two"}]},
    )


def test_image() -> None:
    url = f"data:image/png;base64,{PNG}"
    check(
        see(ImageBlock(Base64Source("image/png", PNG))),
        anthropic_messages={
            "role": "user",
            "content": [
                {"type": "text", "text": "see"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
            ],
        },
        openai_chat={
            "role": "user",
            "content": [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": url}}],
        },
        openai_responses=lossy(
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "see"},
                    {"type": "input_image", "image_url": url, "detail": "auto"},
                ],
            },
            "content/1/detail added",
        ),
        gemini={"role": "user", "parts": [{"text": "see"}, {"inlineData": {"mimeType": "image/png", "data": PNG}}]},
        ollama={"role": "user", "content": "see", "images": [PNG]},
        bedrock_converse={
            "role": "user",
            "content": [{"text": "see"}, {"image": {"format": "png", "source": {"bytes": PNG}}}],
        },
    )


def test_image_by_url_and_detail() -> None:
    url = "https://example.com/a.png"
    check(
        see(ImageBlock(UrlSource(url), detail="low")),
        anthropic_messages=lossy(
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "see"},
                    {"type": "image", "source": {"type": "url", "url": url}},
                ],
            },
            "content/1/detail dropped",
            reads=see(ImageBlock(UrlSource(url))),
        ),
        openai_chat={
            "role": "user",
            "content": [
                {"type": "text", "text": "see"},
                {"type": "image_url", "image_url": {"url": url, "detail": "low"}},
            ],
        },
        openai_responses={
            "role": "user",
            "content": [
                {"type": "input_text", "text": "see"},
                {"type": "input_image", "image_url": url, "detail": "low"},
            ],
        },
        gemini=lossy(
            {
                "role": "user",
                "parts": [
                    {"text": "see"},
                    {
                        "fileData": {"fileUri": url, "mimeType": "image/png"},
                        "mediaResolution": {"level": "MEDIA_RESOLUTION_LOW"},
                    },
                ],
            },
            "content/1/source/media_type added",
            reads=see(ImageBlock(UrlSource(url, "image/png"), detail="low")),
        ),
        ollama=lossy(SEE_STRING, "content/1 dropped"),
        bedrock_converse=lossy(SEE_BARE, "content/1 dropped"),
    )


def test_document() -> None:
    url = f"data:application/pdf;base64,{PDF}"
    check(
        see(DocumentBlock(Base64Source("application/pdf", PDF), filename="paper.pdf")),
        anthropic_messages=lossy(
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "see"},
                    {
                        "type": "document",
                        "source": {"type": "base64", "media_type": "application/pdf", "data": PDF},
                    },
                ],
            },
            "content/1/filename dropped",
        ),
        openai_chat={
            "role": "user",
            "content": [
                {"type": "text", "text": "see"},
                {"type": "file", "file": {"file_data": url, "filename": "paper.pdf"}},
            ],
        },
        openai_responses={
            "role": "user",
            "content": [
                {"type": "input_text", "text": "see"},
                {"type": "input_file", "file_data": url, "filename": "paper.pdf"},
            ],
        },
        gemini={
            "role": "user",
            "parts": [
                {"text": "see"},
                {"inlineData": {"mimeType": "application/pdf", "data": PDF, "displayName": "paper.pdf"}},
            ],
        },
        ollama=lossy(SEE_STRING, "content/1 dropped"),
        # A name is letters, digits, single spaces, hyphens and brackets: the model reads it.
        bedrock_converse=lossy(
            {
                "role": "user",
                "content": [
                    {"text": "see"},
                    {"document": {"format": "pdf", "name": "paper", "source": {"bytes": PDF}}},
                ],
            },
            "content/1/filename moved",
            "content/1/title added",
            reads=see(DocumentBlock(Base64Source("application/pdf", PDF), title="paper")),
        ),
    )


def test_document_with_title_and_context() -> None:
    url = f"data:application/pdf;base64,{PDF}"
    document = DocumentBlock(Base64Source("application/pdf", PDF), title="Paper", context="A draft.")
    check(
        see(document),
        anthropic_messages={
            "role": "user",
            "content": [
                {"type": "text", "text": "see"},
                {
                    "type": "document",
                    "source": {"type": "base64", "media_type": "application/pdf", "data": PDF},
                    "title": "Paper",
                    "context": "A draft.",
                },
            ],
        },
        openai_chat=lossy(
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "see"},
                    {"type": "file", "file": {"file_data": url, "filename": "document.pdf"}},
                ],
            },
            "content/1/title dropped",
            "content/1/context dropped",
            "content/1/filename added",
        ),
        openai_responses=lossy(
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "see"},
                    {"type": "input_file", "file_data": url, "filename": "Paper"},
                ],
            },
            "content/1/title approximated",
            "content/1/context dropped",
            "content/1/filename added",
        ),
        gemini=lossy(
            {
                "role": "user",
                "parts": [{"text": "see"}, {"inlineData": {"mimeType": "application/pdf", "data": PDF}}],
            },
            "content/1/title dropped",
            "content/1/context dropped",
        ),
        ollama=lossy(SEE_STRING, "content/1 dropped"),
        bedrock_converse={
            "role": "user",
            "content": [
                {"text": "see"},
                {
                    "document": {
                        "format": "pdf",
                        "name": "Paper",
                        "source": {"bytes": PDF},
                        "context": "A draft.",
                    }
                },
            ],
        },
    )


def test_document_of_text() -> None:
    encoded = "T25jZS4="  # "Once."
    check(
        see(DocumentBlock(TextSource("Once."), title="Tale")),
        anthropic_messages={
            "role": "user",
            "content": [
                {"type": "text", "text": "see"},
                {
                    "type": "document",
                    "source": {"type": "text", "media_type": "text/plain", "data": "Once."},
                    "title": "Tale",
                },
            ],
        },
        openai_chat=lossy(
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "see"},
                    {
                        "type": "file",
                        "file": {"file_data": f"data:text/plain;base64,{encoded}", "filename": "document.txt"},
                    },
                ],
            },
            "content/1/source approximated",
            "content/1/title dropped",
            "content/1/filename added",
        ),
        openai_responses=lossy(
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "see"},
                    {
                        "type": "input_file",
                        "file_data": f"data:text/plain;base64,{encoded}",
                        "filename": "Tale",
                    },
                ],
            },
            "content/1/source approximated",
            "content/1/title approximated",
            "content/1/filename added",
        ),
        gemini=lossy(
            {
                "role": "user",
                "parts": [{"text": "see"}, {"inlineData": {"mimeType": "text/plain", "data": encoded}}],
            },
            "content/1/title dropped",
            reads=see(DocumentBlock(TextSource("Once."))),
        ),
        ollama=lossy(
            {"role": "user", "content": "see\n\nOnce."},
            "content/0 approximated",
            "content/1 approximated",
        ),
        bedrock_converse={
            "role": "user",
            "content": [
                {"text": "see"},
                {"document": {"format": "txt", "name": "Tale", "source": {"text": "Once."}}},
            ],
        },
    )


def test_stored_file() -> None:
    """A file belongs to whom it is stored with."""
    check(
        see(DocumentBlock(FileSource("file_1", dialect="anthropic-messages"))),
        anthropic_messages={
            "role": "user",
            "content": [
                {"type": "text", "text": "see"},
                {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
            ],
        },
        openai_chat=lossy(SEE_TYPED, "content/1 dropped"),
        openai_responses=lossy(SEE_INPUT, "content/1 dropped"),
        gemini=lossy({"role": "user", "parts": [{"text": "see"}]}, "content/1 dropped"),
        ollama=lossy(SEE_STRING, "content/1 dropped"),
        bedrock_converse=lossy(SEE_BARE, "content/1 dropped"),
    )


def test_audio() -> None:
    check(
        see(AudioBlock(Base64Source("audio/wav", WAV))),
        anthropic_messages=lossy(SEE_TYPED, "content/1 dropped"),
        openai_chat={
            "role": "user",
            "content": [
                {"type": "text", "text": "see"},
                {"type": "input_audio", "input_audio": {"data": WAV, "format": "wav"}},
            ],
        },
        openai_responses=lossy(SEE_INPUT, "content/1 dropped"),
        gemini={"role": "user", "parts": [{"text": "see"}, {"inlineData": {"mimeType": "audio/wav", "data": WAV}}]},
        ollama=lossy(SEE_STRING, "content/1 dropped"),
        bedrock_converse={
            "role": "user",
            "content": [{"text": "see"}, {"audio": {"format": "wav", "source": {"bytes": WAV}}}],
        },
    )


def test_video() -> None:
    check(
        see(VideoBlock(Base64Source("video/mp4", MP4))),
        anthropic_messages=lossy(SEE_TYPED, "content/1 dropped"),
        openai_chat=lossy(SEE_TYPED, "content/1 dropped"),
        openai_responses=lossy(SEE_INPUT, "content/1 dropped"),
        gemini={"role": "user", "parts": [{"text": "see"}, {"inlineData": {"mimeType": "video/mp4", "data": MP4}}]},
        ollama=lossy(SEE_STRING, "content/1 dropped"),
        bedrock_converse={
            "role": "user",
            "content": [{"text": "see"}, {"video": {"format": "mp4", "source": {"bytes": MP4}}}],
        },
    )


def test_cache_mark() -> None:
    check(
        user(TextBlock("hello", cache=CacheMark())),
        anthropic_messages={
            "role": "user",
            "content": [{"type": "text", "text": "hello", "cache_control": {"type": "ephemeral"}}],
        },
        openai_chat={
            "role": "user",
            "content": [{"type": "text", "text": "hello", "prompt_cache_breakpoint": {"mode": "explicit"}}],
        },
        openai_responses={
            "role": "user",
            "content": [{"type": "input_text", "text": "hello", "prompt_cache_breakpoint": {"mode": "explicit"}}],
        },
        gemini=lossy({"role": "user", "parts": [{"text": "hello"}]}, "content/0/cache dropped"),
        ollama=lossy({"role": "user", "content": "hello"}, "content/0/cache dropped"),
        bedrock_converse={"role": "user", "content": [{"text": "hello"}, {"cachePoint": {"type": "default"}}]},
    )


def test_cache_mark_for_an_hour() -> None:
    check(
        user(TextBlock("hello", cache=CacheMark("1h"))),
        anthropic_messages={
            "role": "user",
            "content": [{"type": "text", "text": "hello", "cache_control": {"type": "ephemeral", "ttl": "1h"}}],
        },
        openai_chat=lossy(
            {
                "role": "user",
                "content": [{"type": "text", "text": "hello", "prompt_cache_breakpoint": {"mode": "explicit"}}],
            },
            "content/0/cache/ttl dropped",
        ),
        openai_responses=lossy(
            {
                "role": "user",
                "content": [{"type": "input_text", "text": "hello", "prompt_cache_breakpoint": {"mode": "explicit"}}],
            },
            "content/0/cache/ttl dropped",
        ),
        gemini=lossy({"role": "user", "parts": [{"text": "hello"}]}, "content/0/cache dropped"),
        ollama=lossy({"role": "user", "content": "hello"}, "content/0/cache dropped"),
        bedrock_converse={
            "role": "user",
            "content": [{"text": "hello"}, {"cachePoint": {"type": "default", "ttl": "1h"}}],
        },
    )
