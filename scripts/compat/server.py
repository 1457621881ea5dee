"""A loopback server that keeps every request: server.py PORT FILE. It answers with as many tokens as asked."""
import asyncio
import hashlib
import json
import sys
import time

from aiohttp import web

WORDS = "stone cloud market window garden silver engine letter winter river".split()


def answer(raw, body):
    """The words of an answer depend on the messages only, not on the order of the members of the body."""
    n = int(body.get("max_completion_tokens") or body.get("max_tokens") or 12)
    seed = json.dumps([body.get("messages"), body.get("prompt")], sort_keys=True).encode()
    start = hashlib.sha256(seed).digest()[0]
    return [" " + WORDS[(start + i) % len(WORDS)] for i in range(n)]


class Server:
    def __init__(self, out):
        self.out, self.count = out, 0

    async def complete(self, request):
        raw = await request.read()
        arrived, number = time.monotonic_ns(), self.count
        self.count += 1
        body = json.loads(raw)
        self.out.write(json.dumps({"at_ns": arrived, "path": request.path_qs, "headers": dict(request.headers), "raw": raw.decode()}) + "\n")
        self.out.flush()
        words = answer(raw, body)
        usage = {"prompt_tokens": 1, "completion_tokens": len(words), "total_tokens": 1 + len(words)}
        chat = request.path.endswith("/chat/completions")

        def chunk(text, finish, part):
            choice = {"index": 0, "finish_reason": finish}
            choice.update({part: {"role": "assistant", "content": text}} if chat else {"text": text})
            return {"id": f"c{number}", "created": 1, "model": "m", "choices": [choice],
                    "object": ("chat.completion.chunk" if chat else "text_completion")}

        if not body.get("stream"):
            return web.json_response({**chunk("".join(words), "length", "message"), "usage": usage})
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await asyncio.sleep(0.004)
        step = max(1, len(words) // 4)
        for i in range(0, len(words), step):
            event = chunk("".join(words[i:i + step]), "length" if i + step >= len(words) else None, "delta")
            await response.write(b"data: " + json.dumps(event).encode() + b"\n\n")
        if (body.get("stream_options") or {}).get("include_usage"):
            await response.write(b"data: " + json.dumps({**chunk("", None, "delta"), "choices": [], "usage": usage}).encode() + b"\n\n")
        await response.write(b"data: [DONE]\n\n")
        await response.write_eof()
        return response


async def models(_):
    return web.json_response({"object": "list", "data": [{"id": "m", "object": "model"}]})


def main():
    with open(sys.argv[2], "w") as out:
        server = Server(out)
        app = web.Application(client_max_size=1 << 28)
        app.router.add_post("/v1/chat/completions", server.complete)
        app.router.add_post("/v1/completions", server.complete)
        app.router.add_get("/v1/models", models)
        app.router.add_get("/health", models)
        web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), print=None, access_log=None, shutdown_timeout=1)


main()
