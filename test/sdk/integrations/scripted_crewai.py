"""A scripted model for CrewAI."""

from __future__ import annotations

import json
from typing import Any

import script
from crewai import Agent, BaseLLM, Crew, Task


class ScriptedModel(BaseLLM):
    played: script.Script = script.example

    def __init__(self, played: script.Script = script.example) -> None:
        super().__init__(model="scripted", played=played)

    def call(self, messages: Any, *_: Any, **__: Any) -> Any:
        results = [message["content"] for message in messages if message["role"] == "tool"]
        match self.played.next(results):
            case script.Call(tool, arguments):
                function = {"name": tool, "arguments": json.dumps(arguments)}
                return [{"id": f"call-{len(results)}", "type": "function", "function": function}]
            case answer:
                return answer

    def supports_function_calling(self) -> bool:
        return True


def ask(tools: list[Any], played: script.Script) -> str:
    agent = Agent(role="Tester", goal="Follow the script", backstory="Scripted", llm=ScriptedModel(played), tools=tools)
    task = Task(description="Go", expected_output="All results", agent=agent)
    return Crew(agents=[agent], tasks=[task]).kickoff().raw
