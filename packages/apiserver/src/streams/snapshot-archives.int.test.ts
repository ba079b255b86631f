import { once } from "node:events";
import { get } from "node:https";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import type { SnapshotContent, SnapshotPlace } from "@agent-sandbox/kube";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { type ApiServer, createApiServer, type Listening } from "../index.ts";
import { importProtocol } from "./import-snapshot.ts";

const snapshots = "/apis/snapshots.agents.x-k8s.io/v1alpha1/namespaces/default/sandboxsnapshots";
const archive = Buffer.alloc(3 * 1024 * 1024, 7);

async function* refusing(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of content) {
    if (piece[0] === 121) throw Object.assign(new Error("it begins with a y"), { reason: "ArchiveInvalid" });
    yield piece;
  }
}

describe("archives of snapshots", () => {
  let server: ApiServer;
  let listening: Listening;
  let editor: string;
  let importer: string;
  let imported: Promise<Buffer>[];

  /** A node that exports one archive, and refuses those that begin with an x when it has them, and those that begin with a y at once. */
  const node = {
    export: async (place: SnapshotPlace) => Readable.from([Buffer.from(`archive of ${place.namespace}/${place.name}`)]),
    import: async ({ namespace, name, content }: SnapshotContent) => {
      // A node looks for the namespace and the name before it reads.
      await sleep(100);
      const received = buffer(refusing(content));
      received.catch(() => undefined);
      imported.push(received);
      const bytes = await received;
      if (bytes[0] === 120) throw Object.assign(new Error("it begins with an x"), { reason: "ArchiveInvalid" });
      return { metadata: { namespace, name } };
    },
  };
  const exec = (): never => {
    throw new Error("not used");
  };

  const account = async (name: string, role: string): Promise<string> => {
    const send: ApiServer["transport"]["send"] = (request) => server.transport.send(request);
    const accounts = "/api/v1/namespaces/default/serviceaccounts";
    await send({ method: "POST", path: accounts, body: { metadata: { name } } });
    const binding = {
      metadata: { name },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
      subjects: [{ kind: "ServiceAccount", name, namespace: "default" }],
    };
    const path = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings";
    await send({ method: "POST", path, body: binding });
    const { body } = await send({ method: "POST", path: `${accounts}/${name}/token`, body: { spec: {} } });
    return (body as { status: { token: string } }).status.token;
  };

  beforeAll(async () => {
    server = await createApiServer({ nodeName: "box", podStreams: { exec, snapshots: node } });
    listening = await server.listen();
    editor = await account("editor", "edit");
    importer = await account("importer", "agent-sandbox-snapshot-importer");
    const body = { metadata: { name: "taken" }, spec: { sandboxRef: { name: "web" } } };
    const object = { apiVersion: "snapshots.agents.x-k8s.io/v1alpha1", kind: "SandboxSnapshot", ...body };
    await server.transport.send({ method: "POST", path: snapshots, body: object });
  });
  afterAll(() => server.close());
  beforeEach(() => {
    imported = [];
  });

  const open = (name: string, token: string): WebSocket =>
    new WebSocket(`${listening.url.replace("https", "wss")}${snapshots}/${name}/import`, [importProtocol], {
      ca: listening.authority,
      headers: { authorization: `Bearer ${token}` },
    });
  const refusedWith = async (socket: WebSocket): Promise<number | undefined> => {
    const [, response] = (await once(socket, "unexpected-response")) as [unknown, { statusCode?: number }];
    socket.on("error", () => undefined).terminate();
    return response.statusCode;
  };
  const send = async (socket: WebSocket, ...pieces: (Buffer | string)[]): Promise<unknown> => {
    await once(socket, "open");
    const answer = once(socket, "message");
    for (const piece of pieces) socket.send(piece);
    const [data] = (await answer) as [Buffer];
    return JSON.parse(data.toString());
  };

  test("an archive reaches the node, and its answer the client", async () => {
    const pieces = [archive.subarray(0, 1_000_000), archive.subarray(1_000_000)];
    expect(await send(open("copy", importer), ...pieces, "end")).toMatchObject({ status: "Success" });
    expect((await imported[0])?.equals(archive)).toBe(true);
    expect(await send(open("copy", importer), Buffer.from("x"), "end")).toMatchObject({
      status: "Failure",
      reason: "ArchiveInvalid",
      message: "it begins with an x",
    });
  });

  test("a client whose archive is refused in the middle gets the answer, and need not stop at once", async () => {
    const socket = open("copy", importer);
    await once(socket, "open");
    const answer = once(socket, "message");
    // More than the buffers of the connection hold: the server must take it.
    const pieces = [Buffer.from("y"), ...Array.from({ length: 32 }, () => archive)];
    const sent = pieces.map((piece) => new Promise((done) => socket.send(piece, done)));
    const [data] = (await answer) as [Buffer];
    expect(JSON.parse(data.toString())).toMatchObject({ status: "Failure", message: "it begins with a y" });
    const failed = (await Promise.all(sent)).filter((error) => error instanceof Error);
    expect(failed).toEqual([]);
  });

  test("a connection that closes before the end imports nothing", async () => {
    const socket = open("copy", importer);
    await once(socket, "open");
    socket.send(archive.subarray(0, 1000));
    await expect.poll(() => imported.length).toBe(1);
    socket.terminate();
    await expect(imported[0]).rejects.toThrow("the connection has ended");
  });

  test("importing is not part of edit, and a valid name is needed", async () => {
    expect(await refusedWith(open("copy", editor))).toBe(403);
    expect(await refusedWith(open("Not_valid", importer))).toBe(400);
    expect(imported).toEqual([]);
  });

  test("the right to import is not enough without the right to create snapshots", async () => {
    const rules = [{ apiGroups: ["snapshots.agents.x-k8s.io"], resources: ["sandboxsnapshots/import"], verbs: ["*"] }];
    const path = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    await server.transport.send({ method: "POST", path, body: { metadata: { name: "half" }, rules } });
    expect(await refusedWith(open("copy", await account("half", "half")))).toBe(403);
  });

  test("edit can export a snapshot, and a request without an upgrade imports nothing", async () => {
    const response = await fetchWith(listening, `${snapshots}/taken/export`, editor);
    expect([response.status, await response.text]).toEqual([200, "archive of default/taken"]);
    expect((await fetchWith(listening, `${snapshots}/other/export`, editor)).status).toBe(404);
    expect((await fetchWith(listening, `${snapshots}/taken/export`, importer)).status).toBe(403);
    expect((await fetchWith(listening, `${snapshots}/taken/import`, importer)).status).toBe(400);
    expect(imported).toEqual([]);
  });
});

async function fetchWith(
  { url, authority }: Listening,
  path: string,
  token: string,
): Promise<{ status: number | undefined; text: Promise<string> }> {
  const request = get(`${url}${path}`, { ca: authority, headers: { authorization: `Bearer ${token}` } });
  const [response] = (await once(request, "response")) as [Readable & { statusCode?: number }];
  return { status: response.statusCode, text: buffer(response).then(String) };
}
