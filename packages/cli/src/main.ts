import { Command } from "commander";
import { defaultDataDir } from "./box/box-paths.ts";
import { execCommand } from "./commands/exec-command.ts";
import { reportFailure } from "./report-failure.ts";

const version = "0.1.0";

/** Each command's module is loaded when it runs: `--help` and `get` do not pay for the box. */
const program = new Command("agent-sandbox")
  .description("Isolated, stateful sandboxes with stable names, on this machine or on any Kubernetes cluster.")
  .version(version, "--version")
  .showHelpAfterError("Run agent-sandbox --help to see what there is.")
  .enablePositionalOptions();

/** The options may stand before the command or after it, as people are used to from kubectl. */
function withFolder(command: Command): Command {
  return command.option(
    "--data-dir <folder>",
    `the box's data folder (AGENT_SANDBOX_DATA_DIR; default ${defaultDataDir})`,
  );
}
function withServer(command: Command): Command {
  return withFolder(command)
    .option("--kubeconfig <file>", "the API server to talk to (default: the running box, else KUBECONFIG)")
    .option("-n, --namespace <name>", "the namespace of objects (default: the kubeconfig's)");
}
withServer(program);

function appended(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

withFolder(program.command("up"))
  .description("Start the box: API server, controllers and node in one process")
  .option("--foreground", "stay attached and log to the terminal")
  .option("--listen <address>", "where the API server listens", "127.0.0.1:7643")
  .option("--router-listen <address>", "where the router listens for traffic to sandboxes", "127.0.0.1:7680")
  .option("--audit-log <file>", "write down who asked the API server for what: a line of JSON for each request")
  .option("--allow-privileged", "let Pods have privileged containers, which are root on this machine in all but name")
  .option("--allow-host-path <folder>", "let Pods mount this folder of the machine; may be repeated", appended)
  .option("--runtime <name=program>", "another OCI runtime, such as Kata's; may be repeated", appended)
  .option(
    "--allow-runtime <name>",
    "let Pods use this runtime too, such as runc beside gVisor; may be repeated",
    appended,
  )
  .option("--default-runtime <name>", "for Pods that name none (default: gVisor where it works, else runc)")
  .addHelpText("after", "\nWhat holds for every start is settled in config.json in the data folder, under node.")
  .action(async (_options, command) => (await import("./commands/up.ts")).up(command.optsWithGlobals()));

withFolder(program.command("down"))
  .description("Stop the box; sandboxes keep running and are found by the next `up`")
  .option("--purge", "also end every sandbox and delete the data folder")
  .action(async (_options, command) => (await import("./commands/down.ts")).down(command.optsWithGlobals()));

withServer(program.command("status"))
  .description("Say whether the box runs, where it is, and what runs in it")
  .action(async (_options, command) => (await import("./commands/status.ts")).status(command.optsWithGlobals()));

withServer(program.command("apply"))
  .description("Create or change the objects in a YAML or JSON file")
  .requiredOption("-f, --filename <file>", "the file, or - for standard input")
  .action(async (_options, command) => (await import("./commands/apply.ts")).apply(command.optsWithGlobals()));

withServer(program.command("get"))
  .description("Show objects")
  .argument("<type>", "sandboxes, pods, …; several with commas between; or type/name")
  .argument("[names...]")
  .option("-A, --all-namespaces", "in every namespace")
  .option("-o, --output <format>", "json, yaml, name or wide")
  .option("-l, --selector <labels>", "only objects with these labels")
  .action(async (type, names, _options, command) =>
    (await import("./commands/get.ts")).get(type, names, command.optsWithGlobals()),
  );

withServer(program.command("delete"))
  .description("Delete objects, and with them what they own")
  .argument("[type/name...]", "sandbox/my-sandbox; or a type and then names")
  .option("-f, --filename <file>", "delete the objects in this file, or - for standard input")
  .option("--ignore-not-found", "take what is not there for deleted")
  .action(async (words, _options, command) =>
    (await import("./commands/delete.ts")).deleteObjects(words, command.optsWithGlobals()),
  );

withServer(program.command("wait"))
  .description("Wait for a condition of an object, or until it is gone")
  .argument("<type/name>")
  .requiredOption("--for <what>", "condition=Type, condition=Type=Status, or delete")
  .option("--timeout <duration>", "how long: 30s, 5m", "30s")
  .action(async (target, _options, command) =>
    (await import("./commands/wait.ts")).wait(target, command.optsWithGlobals()),
  );

execCommand(withServer(program.command("exec")), async (sandbox, words, options) =>
  (await import("./commands/exec.ts")).exec(sandbox, words, options),
);

withServer(program.command("logs"))
  .description("Print what a sandbox has written")
  .argument("<sandbox>")
  .option("-f, --follow", "go on with what it writes from now on")
  .option("-p, --previous", "of the run before the current one")
  .option("--timestamps", "begin each line with its time")
  .option("--tail <lines>", "only the last lines of what is there")
  .option("--since <duration>", "only what is not older: 30s, 5m")
  .option("-c, --container <name>", "the container; the first by default")
  .action(async (sandbox, _options, command) =>
    (await import("./commands/logs.ts")).logs(sandbox, command.optsWithGlobals()),
  );

withServer(program.command("port-forward"))
  .description("Forward a local port to one of a sandbox, until interrupted")
  .argument("<sandbox>")
  .argument("<[local:]remote>", "the ports; :remote takes any free local one")
  .option("--address <address>", "where to listen", "127.0.0.1")
  .action(async (sandbox, ports, _options, command) =>
    (await import("./commands/port-forward.ts")).portForward(sandbox, ports, command.optsWithGlobals()),
  );

withFolder(program.command("backup"))
  .description("Save every object and the identity of the box in one file, whether it runs or not")
  .argument("<file>")
  .action(async (file, _options, command) =>
    (await import("./commands/backup.ts")).backup(file, command.optsWithGlobals()),
  );

withFolder(program.command("restore"))
  .description("Put a backup in the place of what a box has, which is stopped for it; volumes and images are not in it")
  .argument("<file>")
  .action(async (file, _options, command) =>
    (await import("./commands/restore.ts")).restore(file, command.optsWithGlobals()),
  );

const image = program
  .command("image")
  .description("The images that sandboxes are made of, whether the box runs or not")
  .addHelpText(
    "after",
    `
Built-in images need no registry: "host" has the machine's own programs, "sandboxd" the daemon for inside a sandbox.
Mirrors, registries without TLS and limits are settled in config.json in the data folder, under node.images.

Examples:
  agent-sandbox image pull debian:12
  agent-sandbox image load saved.tar
  agent-sandbox image ls`,
  );

withFolder(image.command("ls"))
  .description("List the images that are here")
  .option("-o, --output <format>", "json")
  .action(async (_options, command) => (await import("./commands/image.ts")).listImages(command.optsWithGlobals()));

withFolder(image.command("pull"))
  .description("Bring an image up to what its registry has")
  .argument("<name>", "debian, registry.example.com/team/thing:tag, name@sha256:…")
  .option("--authfile <file>", "logins as docker keeps them, such as ~/.docker/config.json")
  .action(async (name, _options, command) =>
    (await import("./commands/image.ts")).pullImage(name, command.optsWithGlobals()),
  );

withFolder(image.command("load"))
  .description("Add the images of an archive, as `docker save` or `skopeo copy … oci-archive:` write it")
  .argument("<file>")
  .option("--name <name>", "for an archive of one image that names none, or another")
  .action(async (file, _options, command) =>
    (await import("./commands/image.ts")).loadImages(file, command.optsWithGlobals()),
  );

withFolder(image.command("rm"))
  .description("Take a name away; the image goes with its last name, unless a sandbox is made of it")
  .argument("<names...>", "names, or ids as `image ls` shows them")
  .action(async (names, _options, command) =>
    (await import("./commands/image.ts")).removeImages(names, command.optsWithGlobals()),
  );

withFolder(image.command("prune"))
  .description("Remove images without a name that no sandbox is made of")
  .option("-a, --all", "those with a name too")
  .action(async (_options, command) => (await import("./commands/image.ts")).pruneImages(command.optsWithGlobals()));

withFolder(program.command("doctor"))
  .description("Say what of this machine the box can use, what is missing, and how to get it")
  .action(async (_options, command) => (await import("./commands/doctor.ts")).doctor(command.optsWithGlobals()));

program
  .command("manager")
  .description("Run the controllers against a Kubernetes cluster; --help lists the flags")
  .helpOption(false)
  .allowUnknownOption()
  .passThroughOptions()
  .argument("[flags...]")
  .action(async (flags) => (await import("./commands/manager.ts")).manager(flags, version));

program
  .command("router")
  .description("Run the router against a Kubernetes cluster; --help lists the flags")
  .helpOption(false)
  .allowUnknownOption()
  .passThroughOptions()
  .argument("[flags...]")
  .action(async (flags) => (await import("./commands/router.ts")).router(flags, version));

// Who reads us may have seen enough, as `head` does: end as a program does that is not asked.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(141);
  throw error;
});

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = reportFailure(error);
}
