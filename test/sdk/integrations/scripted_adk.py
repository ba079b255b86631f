"""A scripted model for Google ADK."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import script
from google.adk.agents import Agent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types


class ScriptedModel(BaseLlm):
    model: str = "scripted"
    played: script.Script = script.example

    async def generate_content_async(self, llm_request: LlmRequest, stream: bool = False) -> AsyncGenerator[LlmResponse, None]:
        parts = [part for content in llm_request.contents for part in content.parts or []]
        results = [part.function_response.response["result"] for part in parts if part.function_response]
        match self.played.next(results):
            case script.Call(tool, arguments):
                part = types.Part.from_function_call(name=tool, args=arguments)
            case answer:
                part = types.Part.from_text(text=answer)
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


async def ask_async(tools: list[Any], played: script.Script) -> str:
    agent = Agent(name="scripted", model=ScriptedModel(played=played), tools=tools)
    async with InMemoryRunner(agent, app_name="scripted") as runner:
        events = await runner.run_debug("Go", quiet=True)
    return "".join(part.text or "" for part in events[-1].content.parts)
