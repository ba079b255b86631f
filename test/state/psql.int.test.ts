import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { findCondition } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pods } from "../../packages/node/src/resources.ts";
import { cannotRun, podOf, StateBox } from "./state-box.ts";

const programs = findPrograms();
if (programs === undefined) console.warn('skipped: psql and postgres are missing; install the package "postgresql"');

const port = 5432;
const data = "/tmp/data";
/** Postgres refuses to run as root. */
const nobody = { securityContext: { runAsUser: 65_534, runAsGroup: 65_534 } };
const serve = `
set -e
${programs}/initdb -D ${data} -U tester -A trust -E UTF8 --locale C >/dev/null
echo "host all all all trust" >>${data}/pg_hba.conf
exec ${programs}/postgres -D ${data} -c listen_addresses='*' -c unix_socket_directories=/tmp
`;

describe.skipIf(cannotRun || programs === undefined)("a database over the sleep of its sandbox", () => {
  let box: StateBox;
  let tunnels: Server;

  beforeAll(async () => {
    box = await StateBox.start();
    tunnels = await listen(box);
  }, 180_000);
  afterAll(async () => {
    tunnels?.close();
    await box?.[Symbol.asyncDispose]();
  }, 120_000);

  test("psql continues its transaction with the next query", { timeout: 300_000 }, async () => {
    await box.run("database", {
      idlePolicy: { suspendAfterSeconds: 10, connections: "MaySleep" },
      resumePolicy: "OnTraffic",
      podTemplate: podOf(["bash", "-c", serve], {
        ...nobody,
        readinessProbe: { tcpSocket: { port }, periodSeconds: 1 },
      }),
    });
    const psql = new Psql((tunnels.address() as AddressInfo).port);
    await psql.ask("CREATE TABLE log (line text); BEGIN; CREATE TEMP TABLE kept (n int);");
    await psql.ask("INSERT INTO kept SELECT generate_series(1, 1000); INSERT INTO log VALUES ('before');");
    const [backend] = await psql.ask("SELECT pg_backend_pid();");
    expect(backend).toMatch(/^\d+$/);

    await expect.poll(() => box.exists(pods, "database"), { timeout: 120_000, interval: 200 }).toBe(false);
    const { status } = await box.read("database");
    expect(findCondition(status?.conditions, "Suspended")).toMatchObject({ status: "True", reason: "Idle" });
    expect(status?.suspension).toMatchObject({ depth: "Memory" });

    // The backend has the transaction and the temporary table in its memory.
    await psql.ask("INSERT INTO kept VALUES (1001); INSERT INTO log VALUES ('after');");
    expect(await psql.ask("SELECT count(*), sum(n), pg_backend_pid() FROM kept;")).toEqual([`1001|501501|${backend}`]);
    expect((await box.read("database")).status?.suspension).toMatchObject({ restored: "Memory", epoch: 1 });
    const other = new Psql((tunnels.address() as AddressInfo).port);
    expect(await other.ask("SELECT count(*) FROM log;")).toEqual(["0"]);
    await psql.ask("COMMIT;");
    expect(await other.ask("SELECT line FROM log;")).toEqual(["before", "after"]);
    expect([await psql.end(), await other.end()]).toEqual([0, 0]);
  });
});

/** The folder of a server and a client of the same version, or undefined. */
function findPrograms(): string | undefined {
  const root = "/usr/lib/postgresql";
  const folders = existsSync(root) ? readdirSync(root).map((version) => join(root, version, "bin")) : [];
  return folders.findLast((folder) => ["initdb", "postgres", "psql"].every((name) => existsSync(join(folder, name))));
}

/** Listens on a port of this machine, and tunnels each connection through the router of the box. */
async function listen(box: StateBox): Promise<Server> {
  const server = createServer((local) => {
    const { port: router, hostname } = box.router();
    const remote = connect(Number(router), hostname);
    const credential = `Proxy-Authorization: Bearer ${box.token()}`;
    remote.write(`CONNECT database.default.localhost:${port} HTTP/1.1\r\nHost: x\r\n${credential}\r\n\r\n`);
    // A server of Postgres says nothing before its client: this is the response of the router alone.
    remote.once("data", (response: Buffer) => {
      if (!String(response).startsWith("HTTP/1.1 200 ")) local.destroy(new Error(String(response)));
      local.pipe(remote).pipe(local);
    });
    for (const [socket, peer] of [
      [local, remote],
      [remote, local],
    ] as const)
      socket.on("error", () => undefined).once("close", () => peer.destroy());
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return server;
}

/** A session of psql. */
class Psql {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #complaints: Promise<string>;
  #said = "";
  #questions = 0;

  constructor(at: number) {
    const options = ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"];
    const place = ["-h", "127.0.0.1", "-p", String(at), "-U", "tester", "postgres"];
    this.#child = spawn(join(programs ?? "", "psql"), [...options, ...place]);
    this.#complaints = text(this.#child.stderr);
    this.#child.stdin.on("error", () => undefined);
    this.#child.stdout.setEncoding("utf8").on("data", (chunk: string) => (this.#said += chunk));
  }

  /** The lines of the answer to some statements. Throws what psql complains of if it ends. */
  async ask(statements: string): Promise<string[]> {
    const end = `answered ${(this.#questions += 1)}`;
    this.#child.stdin.write(`${statements}\nSELECT '${end}';\n`);
    while (!this.#said.endsWith(`${end}\n`)) {
      if (this.#child.exitCode !== null) throw new Error(`psql has ended: ${await this.#complaints}`);
      await sleep(50);
    }
    const lines = this.#said.trimEnd().split("\n").slice(0, -1);
    this.#said = "";
    return lines;
  }

  async end(): Promise<number | null> {
    this.#child.stdin.end();
    const [code] = (await once(this.#child, "close")) as [number | null];
    return code;
  }
}
