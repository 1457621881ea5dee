#!/usr/bin/env python3
"""Record what Jinja makes of the chat templates of the tests, set up as Transformers does.

    pip install jinja2==3.1.6
    python3 scripts/tokenizer/chattemplates.py internal/engine/jinja/testdata
"""
import datetime
import glob
import json
import os
import sys

import jinja2
import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment

CONVERSATIONS = [
    [("user", "Hello, world!")],
    [("system", "Be brief."), ("user", "one <b> & \"two\"\nline é")],
    [("user", " blanks around "), ("assistant", "answer\n"), ("user", "more")],
    [("system", " s "), ("user", "a"), ("assistant", "<think>\nx\n</think>\n\nb"), ("user", "c"), ("assistant", "<think>y</think>d")],
    [("user", "a"), ("user", "b")],
]
SPECIAL = {"bos_token": "<s>", "eos_token": "</s>"}
NOW = datetime.datetime(2026, 3, 4, 5, 6, 7)


def environment():
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols])

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    env.filters["tojson"] = lambda x: json.dumps(x, ensure_ascii=False)
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = NOW.strftime
    return env


def render(source, conversation):
    messages = [{"role": r, "content": c} for r, c in conversation]
    try:
        return environment().from_string(source).render(
            messages=messages, add_generation_prompt=True, tools=None, documents=None, **SPECIAL)
    except jinja2.exceptions.TemplateError as err:
        return "error: " + str(err)


def main():
    folder = sys.argv[1]
    out = {"conversations": [[{"Role": r, "Content": c} for r, c in conv] for conv in CONVERSATIONS], "templates": {}}
    for path in sorted(glob.glob(os.path.join(folder, "*.jinja"))):
        with open(path) as f:
            source = f.read()
        out["templates"][os.path.basename(path)] = [render(source, conv) for conv in CONVERSATIONS]
    with open(os.path.join(folder, "golden.json"), "w") as f:
        json.dump(out, f, ensure_ascii=False, indent=1)
        f.write("\n")


if __name__ == "__main__":
    main()
