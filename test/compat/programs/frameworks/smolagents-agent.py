from scripted_model import ScriptedModel
from smolagents import CodeAgent

with CodeAgent(model=ScriptedModel(), tools=[], executor_type="e2b", verbosity_level=0) as agent:
    print("the agent says:", agent.run("What is the 10th Fibonacci number?"))
