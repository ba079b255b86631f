# A process that is written to while it runs.
from k8s_agent_sandbox import connect

with connect() as client, client.create(image="host") as sandbox:
    with sandbox.commands.start(["python3", "-u", "-c", "print(2 ** int(input()))"]) as process:
        process.write("10\n")
        for output in process.output():
            print(output.text, end="")
        print(process.wait().exit_code)
# Output: 1024
# 0
