import type { Command } from "commander";
import { longestWait, withServer } from "./options.ts";

/** Commands for the state of sandboxes: suspend, resume, snapshots and forks. */
export function declareState(program: Command): void {
  declareSleep(program);
  declareSnapshots(program);
  declareForks(program);
}

function declareSleep(program: Command): void {
  withServer(program.command("suspend"))
    .description(
      "Suspend sandboxes and wait until they are saved. Files, volumes and the address stay; with depth Memory, processes too",
    )
    .argument("<sandboxes...>")
    .option(
      "--depth <depth>",
      "what to keep: Volumes, Filesystem or Memory (default: spec.suspendPolicy of the sandbox)",
    )
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
      (await import("../commands/suspend.ts")).suspend(names, command.optsWithGlobals()),
    );

  withServer(program.command("resume"))
    .description("Resume suspended or idle sandboxes and wait until they are ready")
    .argument("<sandboxes...>")
    .option(...longestWait)
    .action(async (names, _options, command) =>
      (await import("../commands/resume.ts")).resume(names, command.optsWithGlobals()),
    );
}

function declareSnapshots(program: Command): void {
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
  declareTaking(snapshot);
  declareUsing(snapshot);
}

function declareTaking(snapshot: Command): void {
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
      (await import("../commands/snapshot.ts")).createSnapshot(sandbox, name, command.optsWithGlobals()),
    );

  withServer(snapshot.command("ls"))
    .description("List snapshots, the oldest first")
    .argument("[sandbox]", "list only snapshots of this sandbox")
    .option("-A, --all-namespaces", "list snapshots in all namespaces")
    .action(async (sandbox, _options, command) =>
      (await import("../commands/snapshot.ts")).listSnapshots(sandbox, command.optsWithGlobals()),
    );

  withServer(snapshot.command("delete"))
    .description("Delete snapshots")
    .argument("<names...>")
    .action(async (names, _options, command) =>
      (await import("../commands/snapshot.ts")).deleteSnapshots(names, command.optsWithGlobals()),
    );
}

function declareUsing(snapshot: Command): void {
  withServer(snapshot.command("export"))
    .description("Write a snapshot to one archive. It contains everything that the sandbox knew, passwords included")
    .argument("<name>")
    .option("-o, --output <file>", "the archive, or - for the standard output (default: <name>.snapshot.tar)")
    .action(async (name, _options, command) =>
      (await import("../commands/snapshot-archive.ts")).exportSnapshot(name, command.optsWithGlobals()),
    );

  withServer(snapshot.command("import"))
    .description("Create a snapshot from an archive. Import only archives that you trust")
    .argument("<file>", "the archive, or - for the standard input")
    .option("--name <name>", "name of the snapshot (default: from the name of the file)")
    .option(...longestWait)
    .action(async (file, _options, command) =>
      (await import("../commands/snapshot-archive.ts")).importSnapshot(file, command.optsWithGlobals()),
    );

  withServer(snapshot.command("restore"))
    .description("Roll a sandbox back to a snapshot. What it did since then is lost; its name and address stay")
    .argument("<sandbox>")
    .argument("<snapshot>")
    .option(...longestWait)
    .action(async (sandbox, name, _options, command) =>
      (await import("../commands/snapshot.ts")).restoreSnapshot(sandbox, name, command.optsWithGlobals()),
    );
}

function declareForks(program: Command): void {
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
      (await import("../commands/fork.ts")).fork(source, names, command.optsWithGlobals()),
    );
}
