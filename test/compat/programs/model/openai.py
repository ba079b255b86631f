"""A model whose answers come from a script: the file that SCRIPTED_ANSWERS names has one JSON value for each."""

import json
import os
from types import SimpleNamespace


class OpenAI:
    def __init__(self, **_):
        with open(os.environ["SCRIPTED_ANSWERS"]) as file:
            answers = iter([json.loads(line) for line in file])

        def create(messages, **_):
            return completion(next(answers), messages)

        self.chat = SimpleNamespace(completions=SimpleNamespace(create=create))


class AsyncOpenAI:
    def __init__(self, **options):
        model = OpenAI(**options)

        async def create(**request):
            return model.chat.completions.create(**request)

        self.chat = SimpleNamespace(completions=SimpleNamespace(create=create))


def completion(answer, messages):
    last = messages[-1]["content"] if isinstance(messages[-1], dict) else ""
    calls = [
        SimpleNamespace(
            id=f"call-{number}",
            type="function",
            function=SimpleNamespace(name=call["tool"], arguments=json.dumps(call["arguments"])),
        )
        for number, call in enumerate(answer.get("calls", []))
    ]
    content = answer.get("content")
    message = SimpleNamespace(
        role="assistant", content=content and content.replace("{{last}}", str(last)), tool_calls=calls or None
    )
    return SimpleNamespace(choices=[SimpleNamespace(message=message, finish_reason="tool_calls" if calls else "stop")])
