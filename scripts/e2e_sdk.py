"""The official OpenAI SDK against the simulated server: python e2e_sdk.py BASE_URL."""

import sys

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

print("OpenAI SDK", openai.__version__, "is served")
