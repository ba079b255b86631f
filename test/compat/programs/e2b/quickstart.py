from e2b_code_interpreter import Sandbox

# By default the sandbox is alive for 5 minutes
with Sandbox.create() as sandbox:
    # Execute Python inside the sandbox
    execution = sandbox.run_code("print('hello world')")
    print("".join(execution.logs.stdout).strip())

    # State is kept between the calls
    sandbox.run_code("x = 20")
    print(sandbox.run_code("x += 1; x * 2").text)

    # Install a package, or run any other command
    sandbox.run_code("!echo '{\"rows\": 3}' > /home/user/data.json")
    result = sandbox.commands.run("cat data.json")
    print(result.stdout.strip())

    files = sandbox.files.list("/home/user")
    print([file.name for file in files if not file.name.startswith(".")])
