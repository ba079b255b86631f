"""An agent that answers questions with Python code, which a model writes and a sandbox runs."""

import json

from e2b_code_interpreter import Sandbox
from openai import OpenAI

client = OpenAI()

tools = [
    {
        "type": "function",
        "function": {
            "name": "execute_python",
            "description": "Execute python code in a Jupyter notebook cell and return the result",
            "parameters": {
                "type": "object",
                "properties": {"code": {"type": "string", "description": "The python code to execute in a single cell"}},
                "required": ["code"],
            },
        },
    }
]


def chat(sandbox, question):
    messages = [{"role": "system", "content": "You are a data scientist."}, {"role": "user", "content": question}]
    while True:
        response = client.chat.completions.create(model="gpt-4o", messages=messages, tools=tools)
        message = response.choices[0].message
        if not message.tool_calls:
            return message.content
        messages.append(message)
        for call in message.tool_calls:
            code = json.loads(call.function.arguments)["code"]
            execution = sandbox.run_code(
                code,
                on_stdout=lambda line: print("[stdout]", line.line.strip()),
                on_stderr=lambda line: print("[stderr]", line.line.strip()),
            )
            if execution.error:
                print("[error]", execution.error.name)
                content = f"{execution.error.name}: {execution.error.value}"
            else:
                content = execution.text or "".join(execution.logs.stdout)
            messages.append({"role": "tool", "tool_call_id": call.id, "name": "execute_python", "content": content})


with Sandbox.create() as sandbox:
    print(chat(sandbox, "How many r's are in the word strawberry?"))
