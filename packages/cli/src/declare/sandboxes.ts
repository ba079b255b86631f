import type { Command } from "commander";
import { appended, longestWait, withServer } from "./options.ts";

/** Commands that create a sandbox without a manifest. */
export function declareSandboxes(program: Command): void {
  describeSandbox(withServer(program.command("run")))
    .description("Create a sandbox and run a command in it. The exit code is that of the command")
    .argument("[command...]", "the command and its arguments, after --")
    .option("--name <name>", "name of the sandbox (default: run- and random characters)")
    .option("--rm", "delete the sandbox when the command has ended, was interrupted or lost its terminal")
    .option("-i, --stdin", "pass standard input to the command")
    .option("-t, --tty", "allocate a terminal for the command")
    .option(...longestWait)
    .addHelpText(
      "after",
      `
Without a command, -it opens a shell, and -i runs the script on the standard input. The sandbox stays when the command has ended, unless --rm is given: then it is deleted
before agent-sandbox returns, and the node removes its processes and files in the background.

Examples:
  agent-sandbox run --rm -- python3 -c 'print(6 * 7)'
  agent-sandbox run --rm -it
  cat numbers.txt | agent-sandbox run --rm -i -- sort -n
  agent-sandbox run --rm -v .:/work -w /work -- make test
  agent-sandbox run --rm -p 8080:8000 -- python3 -m http.server 8000`,
    )
    .action(async (words, _options, command) =>
      (await import("../commands/run.ts")).run(words, command.optsWithGlobals()),
    );

  describeSandbox(withServer(program.command("create")))
    .description("Create a sandbox that waits for commands, and wait until it is ready")
    .argument("<name>")
    .option(...longestWait)
    .addHelpText(
      "after",
      `
Examples:
  agent-sandbox create work --memory 2Gi --cpus 2 -p 8000
  agent-sandbox exec work -- uname -a
  agent-sandbox shell work`,
    )
    .action(async (name, _options, command) =>
      (await import("../commands/create.ts")).create(name, command.optsWithGlobals()),
    );
}

/** Commands for a sandbox that exists: a shell, and copies of files. */
export function declareAccess(program: Command): void {
  withServer(program.command("shell"))
    .description("Open a shell in a sandbox, which wakes up if it is asleep")
    .argument("<sandbox>")
    .option("-c, --container <name>", "container name (default: the first container)")
    .action(async (sandbox, _options, command) =>
      (await import("../commands/shell.ts")).shell(sandbox, command.optsWithGlobals()),
    );

  withServer(program.command("open"))
    .description("Open a port of a sandbox in the browser, with a login link that works once within a minute")
    .argument("<sandbox>")
    .argument("[port]", "default: the first port that the sandbox declares")
    .option("--print", "only print the link")
    .option(
      "--router <url>",
      "address of the router (default: that of the box, or a port-forward to that of the cluster)",
    )
    .addHelpText(
      "after",
      `
Without a display the link is printed. The browser then has a session for this port, for at most 8 hours. Everyone who has the link
can use it first: other users of this machine can see it in the list of processes, unless --print is given.

Examples:
  agent-sandbox open web
  agent-sandbox open web 8000 --print`,
    )
    .action(async (sandbox, port, _options, command) =>
      (await import("../commands/open.ts")).open(sandbox, port, command.optsWithGlobals()),
    );

  withServer(program.command("cp"))
    .description("Copy files and folders between this machine and a sandbox. Needs tar in the sandbox")
    .argument("<from>", "a local path, SANDBOX:PATH, or - for the standard input")
    .argument("<to>", "a local path, SANDBOX:PATH, or - for the standard output")
    .option("-c, --container <name>", "container name (default: the first container)")
    .addHelpText(
      "after",
      `
Links are not copied: a sandbox could otherwise make this program write elsewhere.

Examples:
  agent-sandbox cp data.csv work:/tmp/
  agent-sandbox cp work:/root/results .
  agent-sandbox cp work:/var/log/app.log - | grep error`,
    )
    .action(async (from, to, _options, command) =>
      (await import("../commands/cp.ts")).copy(from, to, command.optsWithGlobals()),
    );
}

/** Commands that tell what happened to a sandbox, and start it again. */
export function declareDiagnosis(program: Command): void {
  withServer(program.command("describe"))
    .description("Show what sandboxes are made of, whether they run, why not, and what happened to them")
    .argument("<sandboxes...>", "names of sandboxes or claims")
    .action(async (names, _options, command) =>
      (await import("../commands/describe.ts")).describe(names, command.optsWithGlobals()),
    );

  withServer(program.command("events"))
    .description("List the events of a sandbox, its Pod and its claim, the oldest first")
    .argument("[sandbox]", "default: all events of the namespace")
    .action(async (sandbox, _options, command) =>
      (await import("../commands/events.ts")).events(sandbox, command.optsWithGlobals()),
    );

  withServer(program.command("top"))
    .description("Show the processor time and memory that running sandboxes use, and their limits")
    .argument("[sandboxes...]", "names of sandboxes or claims (default: all of the namespace)")
    .option("-A, --all-namespaces", "show sandboxes in all namespaces")
    .option("--sort-by <column>", "cpu, memory or name", "name")
    .action(async (names, _options, command) =>
      (await import("../commands/top.ts")).top(names, command.optsWithGlobals()),
    );

  withServer(program.command("restart"))
    .description("Start sandboxes again with their present spec. Files, volumes and the address stay; processes end")
    .argument("<sandboxes...>")
    .option(...longestWait)
    .action(async (names, _options, command) =>
      (await import("../commands/restart.ts")).restart(names, command.optsWithGlobals()),
    );
}

function describeSandbox(command: Command): Command {
  return command
    .option(
      "--image <image>",
      'image of the sandbox; in a box the default is "host", which has the programs of its machine. A cluster has no default',
    )
    .option("--runtime <name>", "runtime, such as gvisor or runc (default: that of the box)")
    .option(
      "-e, --env <name=value>",
      "environment variable; NAME alone takes its value from here; can be repeated",
      appended,
    )
    .option(
      "-v, --volume <host:path[:ro]>",
      "mount a folder of this machine, if the operator allows it; can be repeated",
      appended,
    )
    .option(
      "-p, --publish <[local:]port>",
      "declare a port and print its address at the router; with local, forward that port here while `run` runs; can be repeated",
      appended,
    )
    .option("--cpus <number>", "limit of processors, as in 1.5")
    .option("--memory <quantity>", "limit of memory, as in 512Mi")
    .option("-w, --workdir <folder>", "working directory of the sandbox")
    .option("-l, --label <name=value>", "label of the sandbox; can be repeated", appended);
}
