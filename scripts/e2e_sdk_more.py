"""The official Anthropic and Cohere SDKs for Python against the simulated server: python e2e_sdk_more.py TARGET."""

import sys

import anthropic
import cohere

QUESTION = [{"role": "user", "content": "Say something."}]


def check_anthropic(root):
    claude = anthropic.Anthropic(base_url=root, api_key="sk-test", max_retries=0, timeout=20)
    message = claude.messages.create(model="m", max_tokens=7, system="Be brief.", messages=QUESTION)
    assert message.type == "message" and message.role == "assistant" and message.content[0].text, message
    assert message.stop_reason == "max_tokens" and message.usage.output_tokens == 7, message

    with claude.messages.stream(model="m", max_tokens=7, messages=QUESTION) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    assert text and text == final.content[0].text, final
    assert final.stop_reason == "max_tokens" and final.usage.output_tokens == 7, final

    count = claude.messages.count_tokens(model="m", messages=QUESTION)
    assert count.input_tokens == final.usage.input_tokens, count

    try:
        claude.messages.create(model="m", max_tokens=10_000_000, messages=QUESTION)
    except anthropic.BadRequestError as error:
        assert error.body["error"]["type"] == "invalid_request_error", error
    else:
        raise AssertionError("a request beyond the context length was answered")


def check_cohere(root):
    client = cohere.ClientV2(base_url=root, api_key="co-test", timeout=20)
    documents = ["The capital of Brazil is Brasilia.", "The capital of France is Paris.", "Horses and cows are both animals"]
    ask = {"model": "m", "query": "What is the capital of France?", "documents": documents}
    ranked = client.rerank(**ask)
    assert ranked.id and [r.index for r in ranked.results] == [1, 0, 2], ranked
    scores = [r.relevance_score for r in ranked.results]
    assert scores == sorted(scores, reverse=True) and 0 <= scores[-1] < scores[0] <= 1, scores
    assert client.rerank(**ask, top_n=1).results == ranked.results[:1]

    try:
        client.rerank(model="m", query="x", documents=[])
    except cohere.BadRequestError as error:
        assert error.body["error"]["param"] == "documents", error
    else:
        raise AssertionError("a request without documents was answered")


check_anthropic(sys.argv[1])
print("Anthropic SDK", anthropic.__version__, "is served")
check_cohere(sys.argv[1])
print("Cohere SDK", cohere.__version__, "is served")
