import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { Agent } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { configMaps, foundIn, type Known, type ServerAddress, StormClient, send } from "./storm-client.test.support.ts";

/** Each round starts a process. 200 rounds take a few minutes. */
const rounds = Number(process.env["CRASH_ROUNDS"] ?? 25);
const clientCount = 16;

interface Running {
  readonly child: ChildProcess;
  readonly address: ServerAddress;
}

/** Bundles the server into one file, as in a release. Loading the sources would take most of each round. */
async function bundleServer(folder: string): Promise<string> {
  const outfile = join(folder, "server.mjs");
  await build({
    entryPoints: [fileURLToPath(new URL("crash-server.test.support.ts", import.meta.url))],
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    conditions: ["source"],
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
  });
  return outfile;
}

async function startServer(script: string, folder: string): Promise<Running> {
  const child = spawn(process.execPath, [script, folder], { stdio: ["pipe", "pipe", "ignore"] });
  for await (const line of createInterface({ input: child.stdout })) {
    return { child, address: JSON.parse(line) as ServerAddress };
  }
  throw new Error("the server ended before it served");
}

async function kill(child: ChildProcess): Promise<void> {
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  expect(await exited).toEqual([null, "SIGKILL"]);
}

/** Lets all clients write, kills the server after some acknowledged writes, and returns the newest revision. */
async function storm(
  server: Running,
  clients: readonly StormClient[],
  killAfter: number,
): Promise<{ newest: number; oldest: number }> {
  const agent = new Agent({ keepAlive: true, maxSockets: clients.length });
  const versions: number[] = [];
  let killed: Promise<void> | undefined;
  await Promise.all(
    clients.map((client) =>
      client.write(server.address, agent, (resourceVersion) => {
        if (resourceVersion > 0) versions.push(resourceVersion);
        if (versions.length >= killAfter) killed ??= kill(server.child);
      }),
    ),
  );
  await killed;
  agent.destroy();
  return { newest: Math.max(...versions), oldest: Math.min(...versions) };
}

async function readAll(address: ServerAddress): Promise<{ revision: number; found: Map<string, Known> }> {
  const agent = new Agent();
  const { body } = await send(address, agent, { method: "GET", path: configMaps });
  agent.destroy();
  const ours = body.items.filter((item: { metadata: { name: string } }) => /^c\d+-/.test(item.metadata.name));
  return { revision: Number(body.metadata.resourceVersion), found: foundIn(ours) };
}

test(
  `${rounds} kills in a storm of writes lose nothing that was acknowledged and leave nothing half there`,
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "apiserver-storm-"));
    const clients = Array.from({ length: clientCount }, (_, id) => new StormClient(id));
    const script = await bundleServer(folder);
    const dataDir = join(folder, "data");
    let server = await startServer(script, dataDir);
    let highest = 0;
    for (let round = 0; round < rounds; round += 1) {
      const { newest, oldest } = await storm(server, clients, 20 + ((round * 61) % 200));
      expect(oldest).toBeGreaterThan(highest);
      server = await startServer(script, dataDir);
      const { revision, found } = await readAll(server.address);
      expect(revision).toBeGreaterThanOrEqual(newest);
      expect(clients.flatMap((client) => client.settle(found))).toEqual([]);
      highest = revision;
    }
    await kill(server.child);
    rmSync(folder, { recursive: true });
  },
  // A round takes less than a second, but several on a busy machine.
  60_000 + rounds * 20_000,
);
