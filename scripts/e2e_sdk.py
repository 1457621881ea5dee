"""The official OpenAI and Anthropic SDKs against the simulated server: python e2e_sdk.py BASE_URL."""

import sys

import anthropic
import openai

client = openai.OpenAI(base_url=sys.argv[1], api_key="sk-test", max_retries=0, timeout=20)
question = [{"role": "user", "content": "Say something."}]

models = client.models.list().data
assert models and models[0].object == "model", models

chat = client.chat.completions.create(model="m", messages=question, max_tokens=7)
assert chat.object == "chat.completion" and chat.choices[0].message.role == "assistant", chat
assert chat.choices[0].message.content and chat.choices[0].finish_reason == "length", chat
assert chat.usage.completion_tokens == 7 and chat.usage.prompt_tokens > 0, chat.usage
assert chat.usage.total_tokens == chat.usage.prompt_tokens + 7, chat.usage

chunks = list(
    client.chat.completions.create(
        model="m", messages=question, max_tokens=7, stream=True, stream_options={"include_usage": True}
    )
)
text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
assert text, chunks
assert chunks[-1].usage.completion_tokens == 7, chunks[-1]
assert [c.choices[0].finish_reason for c in chunks if c.choices and c.choices[0].finish_reason] == ["length"]
assert len({c.id for c in chunks}) == 1

completion = client.completions.create(model="m", prompt="Once upon", max_tokens=5)
assert completion.object == "text_completion" and completion.choices[0].text, completion
assert completion.usage.completion_tokens == 5, completion.usage

parts = list(client.completions.create(model="m", prompt="Once upon", max_tokens=5, stream=True))
assert "".join(p.choices[0].text for p in parts if p.choices), parts
assert [p.choices[0].finish_reason for p in parts if p.choices and p.choices[0].finish_reason] == ["length"]

try:
    client.chat.completions.create(model="m", messages=question, max_tokens=10_000_000)
except openai.BadRequestError as error:
    assert "context length" in str(error), error
else:
    raise AssertionError("a request beyond the context length was answered")

response = client.responses.create(model="m", input="Say something.", instructions="Be brief.", max_output_tokens=7)
assert response.object == "response" and response.output_text, response
assert response.status == "incomplete" and response.incomplete_details.reason == "max_output_tokens", response
assert response.usage.output_tokens == 7 and response.usage.input_tokens > 0, response.usage

parts = [{"type": "input_text", "text": "What is this?"}, {"type": "input_image", "image_url": "data:image/png;base64,AA=="}]
talk = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}, {"role": "user", "content": parts}]
events = list(client.responses.create(model="m", input=talk, max_output_tokens=7, stream=True))
assert [e.sequence_number for e in events] == list(range(len(events))), events
pieces = [e.delta for e in events if e.type == "response.output_text.delta"]
assert len(pieces) == 7 and "".join(pieces) == events[-1].response.output_text, events
assert [e.type for e in events[:2]] == ["response.created", "response.in_progress"], events
assert events[-1].type == "response.completed" and events[-1].response.usage.output_tokens == 7, events[-1]

with client.responses.stream(model="m", input="Say something.", max_output_tokens=7) as stream:
    assert "".join(e.delta for e in stream if e.type == "response.output_text.delta") == stream.get_final_response().output_text

try:
    client.responses.create(model="m", input=[])
except openai.BadRequestError as error:
    assert error.param == "input", error
else:
    raise AssertionError("a request without input was answered")

claude = anthropic.Anthropic(base_url=sys.argv[1].removesuffix("/v1"), api_key="sk-test", max_retries=0, timeout=20)
message = claude.messages.create(model="m", max_tokens=7, system="Be brief.", messages=question)
assert message.type == "message" and message.role == "assistant" and message.content[0].text, message
assert message.stop_reason == "max_tokens" and message.usage.output_tokens == 7, message

with claude.messages.stream(model="m", max_tokens=7, messages=question) as stream:
    text = "".join(stream.text_stream)
    final = stream.get_final_message()
assert text and text == final.content[0].text, final
assert final.stop_reason == "max_tokens" and final.usage.output_tokens == 7, final

count = claude.messages.count_tokens(model="m", messages=question)
assert count.input_tokens == final.usage.input_tokens, count

try:
    claude.messages.create(model="m", max_tokens=10_000_000, messages=question)
except anthropic.BadRequestError as error:
    assert error.body["error"]["type"] == "invalid_request_error", error
else:
    raise AssertionError("a request beyond the context length was answered")

print("OpenAI SDK", openai.__version__, "is served")
print("Anthropic SDK", anthropic.__version__, "is served")
