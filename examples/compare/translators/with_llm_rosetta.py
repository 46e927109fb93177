from asked import events, frames, serve, versions
from llm_rosetta import ConversionPipeline

NAMES = {
    "anthropic-messages": "anthropic",
    "openai-chat": "openai_chat",
    "openai-responses": "openai_responses",
    "gemini": "google",
}
ASKED = {
    "anthropic-messages": {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]},
    "openai-chat": {"model": "m", "messages": [{"role": "user", "content": "hi"}]},
    "openai-responses": {"model": "m", "input": "hi"},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]},
}


def pipeline(client, upstream):
    return ConversionPipeline(NAMES[client], NAMES[upstream], target_shim=NAMES[upstream])


def request(task):
    made = pipeline(task["source"], task["target"])
    return made.convert_request(task["body"]), made.warnings


def asked(task):
    """A pipeline wants the client's request before it translates the answer."""
    made = pipeline(task["target"], task["source"])
    made.convert_request(ASKED[task["target"]])
    return made


def answer(task):
    made = asked(task)
    return made.convert_response(task["body"]), made.warnings


def stream(task):
    made = asked(task)
    processor = made.create_stream_processor()
    written = [event for frame in frames(task["body"]) for event in processor.process_chunk(frame)]
    return "".join(events(written, task["target"] in ("anthropic-messages", "openai-responses"))), made.warnings


serve(versions("llm-rosetta"), {"request": request, "answer": answer, "stream": stream})
