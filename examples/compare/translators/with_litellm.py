import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import asyncio

from asked import frames, serve, versions
from litellm import ModelResponse, ModelResponseStream
from litellm.google_genai.adapters import GoogleGenAIAdapter
from litellm.llms.anthropic.pass_through.adapters.transformation import AnthropicAdapter
from litellm.llms.anthropic.pass_through.responses_adapters.transformation import LiteLLMAnthropicToResponsesAPIAdapter
from litellm.responses.litellm_completion_transformation.transformation import LiteLLMCompletionResponsesConfig
from litellm.types.llms.openai import ResponsesAPIResponse

ANTHROPIC, ANTHROPIC_RESPONSES, GOOGLE = (
    AnthropicAdapter(),
    LiteLLMAnthropicToResponsesAPIAdapter(),
    GoogleGenAIAdapter(),
)


def from_messages(task):
    return ANTHROPIC.translate_completion_input_params(dict(task["body"]))


def from_messages_to_responses(task):
    return ANTHROPIC_RESPONSES.translate_request(task["body"])


def from_responses(task):
    rest = {key: value for key, value in task["body"].items() if key not in ("model", "input", "stream")}
    return LiteLLMCompletionResponsesConfig.transform_responses_api_request_to_chat_completion_request(
        model=task["body"].get("model") or task["model"],
        input=task["body"].get("input", []),
        responses_api_request=rest,
        stream=task["body"].get("stream"),
    )


def from_gemini(task):
    rest = {key: value for key, value in task["body"].items() if key != "model"}
    config = rest.pop("generationConfig", None) or rest.pop("generation_config", None)
    return GOOGLE.translate_generate_content_to_completion(task["model"], rest.pop("contents"), config, **rest)


REQUESTS = {
    ("anthropic-messages", "openai-chat"): from_messages,
    ("anthropic-messages", "openai-responses"): from_messages_to_responses,
    ("openai-responses", "openai-chat"): from_responses,
    ("gemini", "openai-chat"): from_gemini,
}
OWN = ("custom_llm_provider", "extra_headers", "litellm_metadata", "litellm_params")
ANSWERS = {
    ("openai-chat", "anthropic-messages"): lambda body: ANTHROPIC.translate_completion_output_params(
        ModelResponse(**body)
    ),
    ("openai-responses", "anthropic-messages"): lambda body: ANTHROPIC_RESPONSES.translate_response(
        ResponsesAPIResponse(**body)
    ),
    ("openai-chat", "openai-responses"): lambda body: (
        LiteLLMCompletionResponsesConfig.transform_chat_completion_response_to_responses_api_response(
            request_input="hi", responses_api_request={}, chat_completion_response=ModelResponse(**body)
        )
    ),
    ("openai-chat", "gemini"): lambda body: GOOGLE.translate_completion_to_generate_content(ModelResponse(**body)),
}


def request(task):
    made = REQUESTS[task["source"], task["target"]](task)
    return {key: value for key, value in made.items() if value is not None and key not in OWN}, []


def answer(task):
    return ANSWERS[task["source"], task["target"]](task["body"]), []


def stream(task):
    chunks = (ModelResponseStream(**frame) for frame in frames(task["body"]))
    if task["target"] == "anthropic-messages":
        written = list(ANTHROPIC.translate_completion_output_params_streaming(chunks, task["model"], is_async=False))
    else:
        written = asyncio.run(collected(GOOGLE.translate_completion_output_params_streaming(later(chunks))))
    return b"".join(written).decode(), []


async def later(chunks):
    for chunk in chunks:
        yield chunk


async def collected(chunks):
    return [chunk async for chunk in chunks]


serve(versions("litellm"), {"request": request, "answer": answer, "stream": stream})
