"""The same scripted model for smolagents."""

import json
import os

from smolagents import ChatMessage, MessageRole, Model


class ScriptedModel(Model):
    def __init__(self):
        super().__init__()
        with open(os.environ["SCRIPTED_ANSWERS"]) as file:
            self.answers = iter([json.loads(line)["content"] for line in file])

    def generate(self, messages, **_):
        return ChatMessage(role=MessageRole.ASSISTANT, content=next(self.answers))
