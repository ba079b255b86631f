"""A scripted model for the OpenAI Agents SDK."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import script
from agents import Agent, Model, ModelResponse, Runner, Usage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText


class ScriptedModel(Model):
    def __init__(self, played: script.Script = script.example) -> None:
        self._script = played

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:
        items = [] if isinstance(input, str) else input
        results = [item["output"] for item in items if item.get("type") == "function_call_output"]
        match self._script.next(results):
            case script.Call(tool, arguments):
                output: Any = ResponseFunctionToolCall(
                    type="function_call", call_id=f"call-{len(results)}", name=tool, arguments=json.dumps(arguments)
                )
            case answer:
                content = ResponseOutputText(type="output_text", text=answer, annotations=[])
                output = ResponseOutputMessage(
                    id="answer", type="message", role="assistant", status="completed", content=[content]
                )
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        raise NotImplementedError("The script is not streamed")


async def ask_async(tools: list[Any], played: script.Script) -> str:
    agent = Agent(name="scripted", model=ScriptedModel(played), tools=tools)
    return str((await Runner.run(agent, "Go", max_turns=100)).final_output)
