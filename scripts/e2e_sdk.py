"""The official OpenAI SDK for Python against the simulated server: python e2e_sdk.py TARGET STRICT.

TARGET is the root of the server, STRICT that of one with the API key token-abc123 and
with --enable-request-id-headers."""

import base64
import json
import struct
import sys

import openai
import pydantic

QUESTION = [{"role": "user", "content": "Say something."}]
TOOL = {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}


class Place(pydantic.BaseModel):
    city: str
    people: int


def client_of(base_url, key="sk-test"):
    return openai.OpenAI(base_url=base_url, api_key=key, max_retries=0, timeout=20)


def conforms(answer):
    """Checks an answer against the SDK's own type, which by itself takes whatever comes."""
    type(answer).model_validate_json(answer.model_dump_json(by_alias=True, exclude_unset=True, warnings=False))
    return answer


def refused(kind, call, *args, **kwargs):
    """Returns the error of a call that has to fail with it."""
    try:
        result = call(*args, **kwargs)
        if kwargs.get("stream"):
            result = list(result)
    except kind as error:
        return error
    raise AssertionError(f"{result} in place of {kind.__name__}")


def finishes(chunks):
    return [c.choices[0].finish_reason for c in chunks if c.choices and c.choices[0].finish_reason]


def check_models(client, name="mock-model"):
    models = [conforms(m) for m in client.models.list()]
    assert [m.id for m in models] == [name] and models[0].object == "model" and models[0].max_model_len > 0, models


def check_chat(client):
    ask = {"model": "m", "messages": QUESTION, "max_tokens": 7}
    chat = conforms(client.chat.completions.create(**ask))
    said = chat.choices[0].message.content
    assert chat.object == "chat.completion" and chat.model == "m" and chat.choices[0].message.role == "assistant", chat
    assert said and chat.choices[0].finish_reason == "length", chat
    assert chat.usage.completion_tokens == 7 and chat.usage.prompt_tokens > 0, chat.usage
    assert chat.usage.total_tokens == chat.usage.prompt_tokens + 7, chat.usage

    chunks = [conforms(c) for c in client.chat.completions.create(**ask, stream=True, stream_options={"include_usage": True})]
    # The role, seven tokens, the finish reason, the usage.
    assert len(chunks) == 10 and chunks[0].choices[0].delta.role == "assistant", chunks
    assert "".join(c.choices[0].delta.content or "" for c in chunks if c.choices) == said, chunks
    assert chunks[-1].choices == [] and chunks[-1].usage == chat.usage, chunks[-1]
    assert finishes(chunks) == ["length"] and len({c.id for c in chunks}) == 1, chunks
    assert len(list(client.chat.completions.create(**ask, stream=True))) == 9

    with client.chat.completions.stream(**ask) as stream:
        assert "".join(e.delta for e in stream if e.type == "content.delta") == said
        assert stream.current_completion_snapshot.choices[0].message.content == said

    error = refused(openai.BadRequestError, client.chat.completions.create, model="m", messages=QUESTION, max_tokens=10_000_000)
    assert "context length" in str(error) and error.type == "BadRequestError" and error.param == "max_tokens", error.body


def check_chat_extras(client):
    """Several choices, logprobs, tools, vLLM's own parameters, and an error in the middle."""
    two = conforms(client.chat.completions.create(model="m", messages=QUESTION, max_tokens=3, n=2, logprobs=True, top_logprobs=2))
    assert [c.index for c in two.choices] == [0, 1] and two.usage.completion_tokens == 6, two
    for choice in two.choices:
        assert "".join(t.token for t in choice.logprobs.content) == choice.message.content, choice
        assert all(len(t.top_logprobs) == 2 and t.logprob <= 0 for t in choice.logprobs.content), choice

    tools = {"tools": [{"type": "function", "function": TOOL}], "tool_choice": "required"}
    whole = conforms(client.chat.completions.create(model="m", messages=QUESTION, **tools)).choices[0]
    assert whole.finish_reason == "tool_calls" and whole.message.tool_calls[0].function.name == TOOL["name"], whole
    chunks = [conforms(c) for c in client.chat.completions.create(model="m", messages=QUESTION, stream=True, **tools)]
    calls = [t.function for c in chunks if c.choices for t in c.choices[0].delta.tool_calls or []]
    assert "".join(t.arguments or "" for t in calls) == whole.message.tool_calls[0].function.arguments, chunks
    assert finishes(chunks) == ["tool_calls"], chunks

    choice = {"guided_choice": ["positive", "negative"]}
    mood = [{"role": "user", "content": [{"type": "text", "text": "Classify this sentiment: vLLM is wonderful!"}]}]
    assert client.chat.completions.create(model="m", messages=mood, extra_body=choice).choices[0].message.content in choice["guided_choice"]

    parsed = client.chat.completions.parse(model="m", messages=QUESTION, response_format=Place).choices[0].message.parsed
    assert isinstance(parsed, Place), parsed

    fault = {"X-Mock-Action": "stream_error:after_tokens:3,message=out of luck"}
    error = refused(openai.APIError, client.chat.completions.create, model="m", messages=QUESTION, stream=True, extra_headers=fault)
    assert "out of luck" in str(error), error


def check_completions(client):
    ask = {"model": "m", "prompt": "Once upon", "max_tokens": 5}
    completion = conforms(client.completions.create(**ask))
    assert completion.object == "text_completion" and completion.choices[0].text, completion
    assert completion.choices[0].finish_reason == "length" and completion.usage.completion_tokens == 5, completion
    # Their type knows no null finish_reason in a chunk, which OpenAI's own server sends too.
    parts = list(client.completions.create(**ask, stream=True, stream_options={"include_usage": True}))
    assert len(parts) == 7 and "".join(p.choices[0].text for p in parts if p.choices) == completion.choices[0].text, parts
    assert finishes(parts) == ["length"] and parts[-1].usage == completion.usage, parts


def check_responses(client):
    ask = {"model": "m", "input": "Say something.", "instructions": "Be brief.", "max_output_tokens": 7}
    response = conforms(client.responses.create(**ask))
    assert response.object == "response" and response.output_text and response.instructions == "Be brief.", response
    assert response.status == "incomplete" and response.incomplete_details.reason == "max_output_tokens", response
    assert response.usage.output_tokens == 7 and response.usage.input_tokens > 0, response.usage
    with client.responses.stream(**ask) as stream:
        assert "".join(e.delta for e in stream if e.type == "response.output_text.delta") == response.output_text
        assert stream.get_final_response().output_text == response.output_text

    parts = [{"type": "input_text", "text": "What is this?"}, {"type": "input_image", "image_url": "data:image/png;base64,AA=="}]
    talk = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}, {"role": "user", "content": parts}]
    events = [conforms(e) for e in client.responses.create(model="m", input=talk, max_output_tokens=7, stream=True)]
    assert [e.sequence_number for e in events] == list(range(len(events))), events
    pieces = [e.delta for e in events if e.type == "response.output_text.delta"]
    assert len(pieces) == 7 and "".join(pieces) == events[-1].response.output_text, events
    assert [e.type for e in events[:2]] == ["response.created", "response.in_progress"], events
    assert events[-1].type == "response.completed" and events[-1].response.usage.output_tokens == 7, events[-1]

    parsed = conforms(client.responses.parse(model="m", input="Name a place.", text_format=Place, temperature=0.5, metadata={"a": "b"}))
    assert isinstance(parsed.output_parsed, Place) and parsed.status == "completed", parsed
    assert parsed.temperature == 0.5 and parsed.metadata == {"a": "b"} and parsed.text.format.name == "Place", parsed

    fault = {"X-Mock-Action": "stream_error:after_tokens:3,message=out of luck"}
    failed = conforms(list(client.responses.create(**ask, stream=True, extra_headers=fault))[-1])
    assert failed.type == "response.failed" and failed.response.error.message == "out of luck", failed
    error = refused(openai.BadRequestError, client.responses.create, model="m", input=[])
    assert error.param == "input", error


def check_response_tools(client):
    ask = {"model": "m", "input": "Is it warm?", "tools": [{"type": "function", **TOOL}], "tool_choice": "required"}
    response = conforms(client.responses.create(**ask))
    call = response.output[-1]
    assert call.type == "function_call" and call.name == TOOL["name"] and call.call_id and call.status == "completed", response
    assert isinstance(json.loads(call.arguments)["city"], str) and response.output_text == "", response

    events = [conforms(e) for e in client.responses.create(**ask, stream=True)]
    assert "".join(e.delta for e in events if e.type == "response.function_call_arguments.delta") == call.arguments, events
    ended = [e for e in events if e.type == "response.function_call_arguments.done"]
    assert [(e.name, e.arguments) for e in ended] == [(call.name, call.arguments)], ended
    assert events[-1].response.output == response.output and events[-1].response.usage == response.usage, events[-1]
    with client.responses.stream(**ask) as stream:
        assert any(e.type == "response.function_call_arguments.done" for e in stream)
        assert stream.get_final_response().output[-1].arguments == call.arguments

    told = [{"role": "user", "content": "Is it warm?"}, call.model_dump(), {"type": "function_call_output", "call_id": call.call_id, "output": "20"}]
    assert client.responses.create(**{**ask, "input": told}).output_text
    error = refused(openai.BadRequestError, client.responses.create, **{**ask, "tool_choice": {"type": "function", "name": "other"}})
    assert error.param == "tool_choice", error


def check_embeddings(client):
    texts = ["the cat sat on the mat", "a cat on a mat", "stock markets fell sharply"]
    plain = conforms(client.embeddings.create(model="m", input=texts, encoding_format="float"))
    assert plain.object == "list" and plain.model == "m" and [d.index for d in plain.data] == [0, 1, 2], plain
    assert {d.object for d in plain.data} == {"embedding"} and {len(d.embedding) for d in plain.data} == {384}, plain
    assert plain.usage.prompt_tokens == plain.usage.total_tokens > 0, plain.usage
    vectors = [d.embedding for d in plain.data]
    dot = lambda a, b: sum(x * y for x, y in zip(a, b))
    assert all(abs(dot(v, v) - 1) < 1e-5 for v in vectors), "vectors are not of length 1"
    assert dot(vectors[0], vectors[1]) > dot(vectors[0], vectors[2]), "likeness does not show"

    # Left to itself the SDK asks for base64, and decodes it.
    assert [d.embedding for d in client.embeddings.create(model="m", input=texts).data] == [[float32(x) for x in v] for v in vectors]
    coded = client.embeddings.create(model="m", input=texts[0], encoding_format="base64").data[0].embedding
    raw = base64.b64decode(coded)
    assert list(struct.unpack(f"<{len(raw) // 4}f", raw)) == [float32(x) for x in vectors[0]], coded
    assert len(client.embeddings.create(model="m", input=texts[0], dimensions=16).data[0].embedding) == 16
    assert refused(openai.BadRequestError, client.embeddings.create, model="m", input=[]).param == "input"


def float32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def sound(seconds, rate=8000):
    """A WAV file of silence: 16 bits, one channel."""
    data = bytes(2 * int(seconds * rate))
    head = struct.pack("<4sI4s4sIHHIIHH4sI", b"RIFF", 36 + len(data), b"WAVE", b"fmt ", 16, 1, 1, rate, 2 * rate, 2, 16, b"data", len(data))
    return head + data


def check_audio(client):
    """Transcriptions, translations and speech."""
    clip = ("clip.wav", sound(2.0), "audio/wav")  # five words
    heard = conforms(client.audio.transcriptions.create(model="whisper-1", file=clip))
    assert heard.text and heard.usage.type == "duration" and heard.usage.seconds == 2, heard
    verbose = client.audio.transcriptions.create(
        model="whisper-1", file=clip, response_format="verbose_json", timestamp_granularities=["word", "segment"]
    )
    assert verbose.text == heard.text and float(verbose.duration) == 2 and len(verbose.words) == 5, verbose
    assert client.audio.transcriptions.create(model="whisper-1", file=clip, response_format="text").strip() == heard.text
    assert "00:00:02,000" in client.audio.transcriptions.create(model="whisper-1", file=clip, response_format="srt")
    assert conforms(client.audio.translations.create(model="whisper-1", file=clip)).text
    events = [conforms(e) for e in client.audio.transcriptions.create(model="gpt-4o-transcribe", file=clip, stream=True)]
    assert [e.type for e in events] == ["transcript.text.delta"] * 5 + ["transcript.text.done"], events
    assert "".join(e.delta for e in events[:-1]) == events[-1].text and events[-1].usage.output_tokens == 5, events

    spoken = client.audio.speech.create(model="tts-1", voice="alloy", input="one two three", response_format="wav").read()
    assert spoken[:4] == b"RIFF" and len(spoken) == 44 + 3 * 19200, len(spoken)
    with client.audio.speech.with_streaming_response.create(
        model="tts-1", voice="alloy", input="one two three", response_format="wav"
    ) as stream:
        assert b"".join(stream.iter_bytes()) == spoken


def check_images(client):
    drawn = conforms(client.images.generate(model="m", prompt="a cat", n=2, size="256x256", response_format="b64_json"))
    pictures = [base64.b64decode(d.b64_json) for d in drawn.data]
    assert len(pictures) == 2 and all(p.startswith(b"\x89PNG") for p in pictures) and drawn.usage.total_tokens > 0, drawn
    steps = [conforms(s) for s in client.images.generate(model="m", prompt="a cat", stream=True, partial_images=2)]
    kinds = ["image_generation.partial_image"] * 2 + ["image_generation.completed"]
    assert [s.type for s in steps] == kinds and steps[1].partial_image_index == 1, steps
    edited = client.images.edit(model="m", prompt="blue", image=("cat.png", pictures[0], "image/png"), response_format="url")
    assert edited.data[0].url.endswith(".png"), edited


def check_strict(root):
    """A key that is demanded, and request ids that are given back."""
    assert refused(openai.AuthenticationError, client_of(root + "/v1").models.list).status_code == 401
    client = client_of(root + "/v1", "token-abc123")
    check_models(client, "NousResearch/Meta-Llama-3-8B-Instruct")
    name = client.models.list().data[0].id
    answer = client.chat.completions.create(model=name, messages=QUESTION, extra_headers={"x-request-id": "sentiment-classification-00001"})
    assert answer._request_id == "sentiment-classification-00001", answer._request_id
    answer = client.completions.create(
        model=name, prompt="A robot may not injure a human being", extra_headers={"x-request-id": "completion-test"}
    )
    assert answer._request_id == "completion-test", answer._request_id
    error = refused(openai.NotFoundError, client.completions.create, model="another", prompt="a")
    assert "another" in str(error), error


def main(target, strict):
    client = client_of(target + "/v1")
    for check in check_models, check_chat, check_chat_extras, check_completions, check_responses, check_response_tools, check_embeddings, check_audio, check_images:
        check(client)
    runpod = client_of(target + "/v2/my-endpoint/openai/v1")
    for check in check_models, check_chat, check_completions, check_responses, check_embeddings:
        check(runpod)
    check_strict(strict)
    print("OpenAI SDK for Python", openai.__version__, "is served")


main(*sys.argv[1:])
