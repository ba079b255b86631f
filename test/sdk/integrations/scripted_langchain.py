"""A scripted chat model for LangChain."""

from __future__ import annotations

from typing import Any

import script
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult


class ScriptedModel(BaseChatModel):
    played: script.Script = script.example

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> ScriptedModel:
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        results = [message.text for message in messages if isinstance(message, ToolMessage)]
        match self.played.next(results):
            case script.Call(tool, arguments):
                call = {"name": tool, "args": arguments, "id": f"call-{len(results)}"}
                message = AIMessage(content="", tool_calls=[call])
            case answer:
                message = AIMessage(content=answer)
        return ChatResult(generations=[ChatGeneration(message=message)])


def ask(tools: list[Any], played: script.Script) -> str:
    from langchain.agents import create_agent

    agent = create_agent(ScriptedModel(played=played), tools)
    return agent.invoke({"messages": "Go"}, {"recursion_limit": 100})["messages"][-1].text


async def ask_async(tools: list[Any], played: script.Script) -> str:
    from langchain.agents import create_agent

    agent = create_agent(ScriptedModel(played=played), tools)
    return (await agent.ainvoke({"messages": "Go"}, {"recursion_limit": 100}))["messages"][-1].text
