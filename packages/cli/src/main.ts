import { Command } from "commander";
import { defaultDataDir } from "./box/box-paths.ts";
import { execCommand } from "./commands/exec-command.ts";
import { reportFailure } from "./report-failure.ts";
import { version } from "./version.ts";

/** Each command loads its module when it runs, so that `--help` and `get` start fast. */
const program = new Command("agent-sandbox")
  .description("Run isolated, stateful sandboxes with stable names, on this machine or on any Kubernetes cluster.")
  .version(version, "--version")
  .showHelpAfterError("Run agent-sandbox --help to list the commands.")
  .enablePositionalOptions();

/** These options are accepted before and after the command, as in kubectl. */
function withFolder(command: Command): Command {
  return command.option(
    "--data-dir <folder>",
    `the box's data folder (AGENT_SANDBOX_DATA_DIR; default ${defaultDataDir})`,
  );
}
function withServer(command: Command): Command {
  return withFolder(command)
    .option("--kubeconfig <file>", "kubeconfig of the API server (default: the running box, then KUBECONFIG)")
    .option("-n, --namespace <name>", "namespace of the objects (default: the namespace in the kubeconfig)");
}
withServer(program);

function appended(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

withFolder(program.command("up"))
  .description("Start the box: API server, controllers, node and router in one process")
  .option("--foreground", "run in the foreground and log to the terminal")
  .option("--listen <address>", "address of the API server", "127.0.0.1:7643")
  .option("--router-listen <address>", "address of the router, which receives traffic for sandboxes", "127.0.0.1:7680")
  .option(
    "--audit-log <file>",
    "append one JSON line per API request to this file: user, verb, resource, response code",
  )
  .option("--allow-privileged", "allow privileged containers; they have nearly the rights of root on this machine")
  .option("--allow-host-path <folder>", "allow hostPath volumes below this folder; can be repeated", appended)
  .option(
    "--runtime <name=program>",
    "register another OCI runtime, such as kata=/opt/kata/bin/kata-runtime; can be repeated",
    appended,
  )
  .option(
    "--allow-runtime <name>",
    "allow Pods to select this runtime, such as runc where gVisor is the default; can be repeated",
    appended,
  )
  .option(
    "--state-key-file <file>",
    "encrypt saved memory with the 32 bytes in this file; repeat it for older keys that only decrypt",
    appended,
  )
  .option(
    "--state-limit <name=quantity>",
    "limit of saved memory or snapshots, such as bytes=20Gi or snapshotsPerNamespace=10; can be repeated",
    appended,
  )
  .option(
    "--default-runtime <name>",
    "runtime of Pods without runtimeClassName (default: gVisor if it works here, otherwise runc)",
  )
  .addHelpText(
    "after",
    '\nTo set these options permanently, write them to config.json in the data folder, under "node".',
  )
  .action(async (_options, command) => (await import("./commands/up.ts")).up(command.optsWithGlobals()));

withFolder(program.command("down"))
  .description("Stop the box. Sandboxes keep running; the next `up` manages them again")
  .option("--purge", "also stop every sandbox and delete the data folder")
  .action(async (_options, command) => (await import("./commands/down.ts")).down(command.optsWithGlobals()));

withServer(program.command("status"))
  .description("Show whether the box is running, its addresses and its sandboxes")
  .action(async (_options, command) => (await import("./commands/status.ts")).status(command.optsWithGlobals()));

withServer(program.command("apply"))
  .description("Create or update the objects in YAML or JSON files")
  .requiredOption("-f, --filename <file>", "file to read, or - for standard input; can be repeated", appended)
  .action(async (_options, command) => (await import("./commands/apply.ts")).apply(command.optsWithGlobals()));

withServer(program.command("get"))
  .description("List objects")
  .argument("<type>", "resource types, separated by commas (sandboxes,pods), or type/name")
  .argument("[names...]")
  .option("-A, --all-namespaces", "list objects in all namespaces")
  .option("-o, --output <format>", "output format: json, yaml, name or wide")
  .option("-l, --selector <labels>", "label selector, as in app=web")
  .action(async (type, names, _options, command) =>
    (await import("./commands/get.ts")).get(type, names, command.optsWithGlobals()),
  );

withServer(program.command("delete"))
  .description("Delete objects and everything they own")
  .argument("[type/name...]", "type/name, as in sandbox/my-sandbox, or a type followed by names")
  .option("-f, --filename <file>", "delete the objects in this file; - reads standard input; can be repeated", appended)
  .option("--ignore-not-found", "succeed if the object does not exist")
  .action(async (words, _options, command) =>
    (await import("./commands/delete.ts")).deleteObjects(words, command.optsWithGlobals()),
  );

withServer(program.command("wait"))
  .description("Wait until an object has a condition or is deleted")
  .argument("<type/name>")
  .requiredOption("--for <what>", "condition=Type, condition=Type=Status, or delete")
  .option("--timeout <duration>", "how long to wait, as in 30s or 5m", "30s")
  .action(async (target, _options, command) =>
    (await import("./commands/wait.ts")).wait(target, command.optsWithGlobals()),
  );

execCommand(withServer(program.command("exec")), async (sandbox, words, options) =>
  (await import("./commands/exec.ts")).exec(sandbox, words, options),
);

withServer(program.command("logs"))
  .description("Print the logs of a sandbox")
  .argument("<sandbox>")
  .option("-f, --follow", "keep printing new lines")
  .option("-p, --previous", "print the logs of the previous run of the container")
  .option("--timestamps", "prefix each line with its timestamp")
  .option("--tail <lines>", "print only this many of the last lines")
  .option("--since <duration>", "print only lines newer than this, as in 30s or 5m")
  .option("-c, --container <name>", "container name (default: the first container)")
  .action(async (sandbox, _options, command) =>
    (await import("./commands/logs.ts")).logs(sandbox, command.optsWithGlobals()),
  );

withServer(program.command("port-forward"))
  .description("Forward a local port to a port of a sandbox until interrupted")
  .argument("<sandbox>")
  .argument("<[local:]remote>", "the ports; :remote listens on any free local port")
  .option("--address <address>", "local address to listen on", "127.0.0.1")
  .action(async (sandbox, ports, _options, command) =>
    (await import("./commands/port-forward.ts")).portForward(sandbox, ports, command.optsWithGlobals()),
  );

const longestWait = ["--timeout <duration>", "how long to wait, as in 30s or 5m", "2m"] as const;

withServer(program.command("suspend"))
  .description(
    "Suspend sandboxes and wait until they are saved. Files, volumes and the address stay; with depth Memory, processes too",
  )
  .argument("<sandboxes...>")
  .option("--depth <depth>", "what to keep: Volumes, Filesystem or Memory (default: spec.suspendPolicy of the sandbox)")
  .option(...longestWait)
  .addHelpText(
    "after",
    `
The depth Memory needs gVisor, and a sandbox that was created with it: set spec.suspendPolicy.depth to Memory in its
manifest. If memory cannot be kept, the sandbox is suspended with its files and a warning says why, unless
spec.suspendPolicy.fallback is Refuse.

Examples:
  agent-sandbox suspend web
  agent-sandbox suspend web worker --timeout 5m`,
  )
  .action(async (names, _options, command) =>
    (await import("./commands/suspend.ts")).suspend(names, command.optsWithGlobals()),
  );

withServer(program.command("resume"))
  .description("Resume suspended or idle sandboxes and wait until they are ready")
  .argument("<sandboxes...>")
  .option(...longestWait)
  .action(async (names, _options, command) =>
    (await import("./commands/resume.ts")).resume(names, command.optsWithGlobals()),
  );

const snapshot = program
  .command("snapshot")
  .description("Take, list, delete, restore, export and import snapshots of sandboxes")
  .addHelpText(
    "after",
    `
A snapshot has the files of a sandbox and, under gVisor, its memory: processes continue where they were. The sandbox keeps
running while a snapshot is taken. Snapshots contain everything that the sandbox knows, passwords included.

Examples:
  agent-sandbox snapshot create web before-upgrade
  agent-sandbox snapshot ls web
  agent-sandbox snapshot restore web before-upgrade
  agent-sandbox snapshot export before-upgrade -o web.tar
  agent-sandbox snapshot import web.tar --name web-copy
  agent-sandbox fork web web-2 --snapshot before-upgrade`,
  );

withServer(snapshot.command("create"))
  .description("Take a snapshot of a sandbox and wait until it is complete")
  .argument("<sandbox>")
  .argument("[name]", "name of the snapshot (default: the sandbox's name and the time)")
  .option("--depth <depth>", "what to capture: Filesystem or Memory (default: Memory if the runtime supports it)")
  .option("--exclude-volumes", "do not capture the volumes of the sandbox")
  .option("--ttl <duration>", "delete the snapshot at this age, as in 30m or 24h")
  .option("--retain", "keep the snapshot when the sandbox is deleted")
  .option(...longestWait)
  .action(async (sandbox, name, _options, command) =>
    (await import("./commands/snapshot.ts")).createSnapshot(sandbox, name, command.optsWithGlobals()),
  );

withServer(snapshot.command("ls"))
  .description("List snapshots, the oldest first")
  .argument("[sandbox]", "list only snapshots of this sandbox")
  .option("-A, --all-namespaces", "list snapshots in all namespaces")
  .action(async (sandbox, _options, command) =>
    (await import("./commands/snapshot.ts")).listSnapshots(sandbox, command.optsWithGlobals()),
  );

withServer(snapshot.command("delete"))
  .description("Delete snapshots")
  .argument("<names...>")
  .action(async (names, _options, command) =>
    (await import("./commands/snapshot.ts")).deleteSnapshots(names, command.optsWithGlobals()),
  );

withServer(snapshot.command("export"))
  .description("Write a snapshot to one archive. It contains everything that the sandbox knew, passwords included")
  .argument("<name>")
  .option("-o, --output <file>", "the archive, or - for the standard output (default: <name>.snapshot.tar)")
  .action(async (name, _options, command) =>
    (await import("./commands/snapshot-archive.ts")).exportSnapshot(name, command.optsWithGlobals()),
  );

withServer(snapshot.command("import"))
  .description("Create a snapshot from an archive. Import only archives that you trust")
  .argument("<file>", "the archive, or - for the standard input")
  .option("--name <name>", "name of the snapshot (default: from the name of the file)")
  .option(...longestWait)
  .action(async (file, _options, command) =>
    (await import("./commands/snapshot-archive.ts")).importSnapshot(file, command.optsWithGlobals()),
  );

withServer(snapshot.command("restore"))
  .description("Roll a sandbox back to a snapshot. What it did since then is lost; its name and address stay")
  .argument("<sandbox>")
  .argument("<snapshot>")
  .option(...longestWait)
  .action(async (sandbox, name, _options, command) =>
    (await import("./commands/snapshot.ts")).restoreSnapshot(sandbox, name, command.optsWithGlobals()),
  );

withServer(program.command("fork"))
  .description("Create sandboxes that continue from the present state of another one, which keeps running")
  .argument("<source>", "the sandbox to copy")
  .argument("<names...>", "names of the new sandboxes")
  .option("--snapshot <name>", "continue from this snapshot and not from the present state")
  .option(...longestWait)
  .addHelpText(
    "after",
    `
Each fork has its own name, address and token. Connections of the source are closed in the forks. A program that keeps random
numbers, keys or identifiers in memory must renew them: see docs/runtime-api.md about the hook after-fork.

Examples:
  agent-sandbox fork web web-2 web-3
  agent-sandbox fork web web-old --snapshot before-upgrade`,
  )
  .action(async (source, names, _options, command) =>
    (await import("./commands/fork.ts")).fork(source, names, command.optsWithGlobals()),
  );

withFolder(program.command("backup"))
  .description("Save all objects and the box's keys to one file. Works while the box is running or stopped")
  .argument("<file>")
  .action(async (file, _options, command) =>
    (await import("./commands/backup.ts")).backup(file, command.optsWithGlobals()),
  );

withFolder(program.command("restore"))
  .description(
    "Replace all objects and keys of a box by a backup. Stops the box first. Volumes and images are not part of a backup",
  )
  .argument("<file>")
  .action(async (file, _options, command) =>
    (await import("./commands/restore.ts")).restore(file, command.optsWithGlobals()),
  );

const image = program
  .command("image")
  .description("Manage the images of the box. Works while the box is running or stopped")
  .addHelpText(
    "after",
    `
Two images are built in and need no registry: "host" contains the programs of this machine, and "sandboxd" the daemon that
runs inside sandboxes. To configure mirrors, registries without TLS and limits, write them to config.json in the data
folder, under "node.images".

Examples:
  agent-sandbox image pull debian:12
  agent-sandbox image load saved.tar
  agent-sandbox image ls`,
  );

withFolder(image.command("ls"))
  .description("List local images")
  .option("-o, --output <format>", "output format: json")
  .action(async (_options, command) => (await import("./commands/image.ts")).listImages(command.optsWithGlobals()));

withFolder(image.command("pull"))
  .description("Pull an image from its registry")
  .argument("<name>", "image reference, as in debian:12, registry.example.com/team/app:tag or name@sha256:…")
  .option("--authfile <file>", "registry credentials in Docker's format, such as ~/.docker/config.json")
  .action(async (name, _options, command) =>
    (await import("./commands/image.ts")).pullImage(name, command.optsWithGlobals()),
  );

withFolder(image.command("load"))
  .description("Load the images in an archive made by `docker save` or `skopeo copy … oci-archive:`")
  .argument("<file>")
  .option("--name <name>", "tag for the image, if the archive contains exactly one")
  .action(async (file, _options, command) =>
    (await import("./commands/image.ts")).loadImages(file, command.optsWithGlobals()),
  );

withFolder(image.command("rm"))
  .description("Remove a tag. The image is deleted when its last tag is removed and no sandbox uses it")
  .argument("<names...>", "tags, or IDs as shown by `image ls`")
  .action(async (names, _options, command) =>
    (await import("./commands/image.ts")).removeImages(names, command.optsWithGlobals()),
  );

withFolder(image.command("prune"))
  .description("Remove untagged images that no sandbox uses")
  .option("-a, --all", "remove tagged images too")
  .action(async (_options, command) => (await import("./commands/image.ts")).pruneImages(command.optsWithGlobals()));

withFolder(program.command("doctor"))
  .description("Check what this machine supports, what is missing and how to install it")
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

// The reader of a pipe may close it early, as `head` does. Exit like a program that is ended by SIGPIPE.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(141);
  throw error;
});

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = reportFailure(error);
}
