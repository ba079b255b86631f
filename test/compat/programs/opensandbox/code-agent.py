"""An agent whose model writes code in a context that keeps its variables, and corrects itself when the code fails."""

import asyncio
import json
import os
from datetime import timedelta

from code_interpreter import CodeInterpreter, SupportedLanguage
from openai import AsyncOpenAI
from opensandbox import Sandbox
from opensandbox.models.execd import ExecutionHandlers

client = AsyncOpenAI()
tools = [{"type": "function", "function": {"name": "run_python", "parameters": {"type": "object", "properties": {"code": {"type": "string"}}}}}]


async def on_stdout(message) -> None:
    print("[stdout]", message.text)


async def main() -> None:
    image = os.getenv("SANDBOX_IMAGE", "opensandbox/code-interpreter:v1.0.2")
    sandbox = await Sandbox.create(image, metadata={"agent": "code"}, timeout=timedelta(minutes=10))
    async with sandbox:
        interpreter = await CodeInterpreter.create(sandbox)
        context = await interpreter.codes.create_context(SupportedLanguage.PYTHON)
        messages = [{"role": "user", "content": "What is the mean of the numbers in /tmp/numbers.txt?"}]
        await sandbox.files.write_file("/tmp/numbers.txt", "1 2 3 6")
        while True:
            response = await client.chat.completions.create(model="qwen-plus", messages=messages, tools=tools)
            message = response.choices[0].message
            messages.append(message)
            if not message.tool_calls:
                print(message.content)
                break
            for call in message.tool_calls:
                execution = await interpreter.codes.run(
                    json.loads(call.function.arguments)["code"],
                    context=context,
                    handlers=ExecutionHandlers(on_stdout=on_stdout),
                )
                if execution.error:
                    print("[error]", execution.error.name)
                    content = "\n".join(execution.error.traceback)
                else:
                    content = execution.result[0].text if execution.result else "(no result)"
                messages.append({"role": "tool", "tool_call_id": call.id, "content": content})
        await sandbox.kill()


asyncio.run(main())
