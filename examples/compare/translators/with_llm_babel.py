from asked import events, frames, serve, versions
from llm_transform.registry import materialize, translate, translate_response, translate_stream


def request(task):
    return materialize(translate(task["source"], task["target"], task["body"])), []


def answer(task):
    return materialize(translate_response(task["source"], task["target"], task["body"])), []


def stream(task):
    written = materialize(translate_stream(task["source"], task["target"], list(frames(task["body"]))))
    return "".join(events(written, task["target"] in ("anthropic-messages", "openai-responses"))), []


serve(versions("llm-babel"), {"request": request, "answer": answer, "stream": stream})
