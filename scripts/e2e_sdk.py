"""The official OpenAI and Anthropic SDKs against the simulated server: python e2e_sdk.py BASE_URL."""

import base64
import struct
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


def sound(seconds, rate=8000):
    """A WAV file of silence: 16 bits, one channel."""
    data = bytes(2 * int(seconds * rate))
    head = struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + len(data), b"WAVE", b"fmt ", 16, 1, 1, rate, 2 * rate, 2, 16, b"data", len(data))
    return head + data


def check_media(client):
    """Transcriptions, translations, speech and images."""
    clip = ("clip.wav", sound(2.0), "audio/wav")  # five words
    heard = client.audio.transcriptions.create(model="whisper-1", file=clip)
    assert heard.text and heard.usage.type == "duration" and heard.usage.seconds == 2, heard
    verbose = client.audio.transcriptions.create(
        model="whisper-1", file=clip, response_format="verbose_json", timestamp_granularities=["word", "segment"]
    )
    assert verbose.text == heard.text and float(verbose.duration) == 2 and len(verbose.words) == 5, verbose
    assert client.audio.transcriptions.create(model="whisper-1", file=clip, response_format="text").strip() == heard.text
    assert "00:00:02,000" in client.audio.transcriptions.create(model="whisper-1", file=clip, response_format="srt")
    assert client.audio.translations.create(model="whisper-1", file=clip).text
    events = list(client.audio.transcriptions.create(model="gpt-4o-transcribe", file=clip, stream=True))
    assert [e.type for e in events] == ["transcript.text.delta"] * 5 + ["transcript.text.done"], events
    assert "".join(e.delta for e in events[:-1]) == events[-1].text and events[-1].usage.output_tokens == 5, events

    spoken = client.audio.speech.create(model="tts-1", voice="alloy", input="one two three", response_format="wav").read()
    assert spoken[:4] == b"RIFF" and len(spoken) == 44 + 3 * 19200, len(spoken)
    with client.audio.speech.with_streaming_response.create(
        model="tts-1", voice="alloy", input="one two three", response_format="wav"
    ) as stream:
        assert b"".join(stream.iter_bytes()) == spoken

    drawn = client.images.generate(model="m", prompt="a cat", n=2, size="256x256", response_format="b64_json")
    pictures = [base64.b64decode(d.b64_json) for d in drawn.data]
    assert len(pictures) == 2 and all(p.startswith(b"\x89PNG") for p in pictures) and drawn.usage.total_tokens > 0, drawn
    steps = list(client.images.generate(model="m", prompt="a cat", stream=True, partial_images=2))
    kinds = ["image_generation.partial_image"] * 2 + ["image_generation.completed"]
    assert [s.type for s in steps] == kinds and steps[1].partial_image_index == 1, steps
    edited = client.images.edit(model="m", prompt="blue", image=("cat.png", pictures[0], "image/png"), response_format="url")
    assert edited.data[0].url.endswith(".png"), edited


check_media(client)

print("OpenAI SDK", openai.__version__, "is served")
print("Anthropic SDK", anthropic.__version__, "is served")
