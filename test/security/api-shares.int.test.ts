import { once } from "node:events";
import type { ClientRequest, IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import { text } from "node:stream/consumers";
import { type ApiServer, createApiServer, type Listening } from "@agent-sandbox/apiserver";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const shares = { requests: 4, waiting: 3, watches: 3, streams: 2 };
const rbac = "rbac.authorization.k8s.io";

/** A user with `edit` in a namespace of the same name, on connections of their own. */
class Caller {
  readonly #agent: Agent;
  readonly #listening: Listening;
  readonly #path: string;
  readonly #open = new Set<ClientRequest>();

  constructor(listening: Listening, user: string) {
    const { key, certificate: cert } = listening.issueClientCertificate({ user });
    this.#listening = listening;
    this.#agent = new Agent({ ca: listening.authority, key, cert, keepAlive: true });
    this.#path = `/api/v1/namespaces/${user}/configmaps`;
  }

  start(method: string, query = "", headers: Record<string, string | number> = {}): ClientRequest {
    const { hostname, port } = new URL(this.#listening.url);
    const call = request({ hostname, port, method, path: `${this.#path}${query}`, agent: this.#agent, headers });
    this.#open.add(call);
    call.once("close", () => this.#open.delete(call));
    call.on("error", () => undefined);
    return call;
  }

  async answer(call: ClientRequest): Promise<{ status: number | undefined; retryAfter: string | undefined }> {
    const [response] = (await once(call, "response")) as [IncomingMessage];
    await text(response);
    return { status: response.statusCode, retryAfter: response.headers["retry-after"] };
  }

  send(method: string, body = "", type = "application/json"): ReturnType<Caller["answer"]> {
    const call = this.start(method, "", { "content-type": type, "content-length": Buffer.byteLength(body) });
    call.end(body);
    return this.answer(call);
  }

  /** Begins a create request and sends only the first byte of the body. */
  upload(): ClientRequest {
    const call = this.start("POST", "", { "content-type": "application/json", "content-length": 1000 });
    call.write("{");
    return call;
  }

  async watch(): Promise<number | undefined> {
    const call = this.start("GET", "?watch=true");
    call.end();
    const [response] = (await once(call, "response")) as [IncomingMessage];
    response.resume();
    response.on("error", () => undefined);
    return response.statusCode;
  }

  hangUp(): void {
    for (const call of this.#open) call.destroy();
    this.#agent.destroy();
  }
}

describe("a tenant who uses as much of the API server as possible", () => {
  let server: ApiServer;
  let mallory: Caller;
  let alice: Caller;
  beforeAll(async () => {
    server = await createApiServer({ shares });
    for (const name of ["mallory", "alice"]) {
      const roleRef = { apiGroup: rbac, kind: "ClusterRole", name: "edit" };
      const subjects = [{ kind: "User", apiGroup: rbac, name }];
      await server.transport.send({ method: "POST", path: "/api/v1/namespaces", body: { metadata: { name } } });
      const path = `/apis/${rbac}/v1/namespaces/${name}/rolebindings`;
      await server.transport.send({ method: "POST", path, body: { metadata: { name }, roleRef, subjects } });
    }
    const listening = await server.listen();
    [mallory, alice] = [new Caller(listening, "mallory"), new Caller(listening, "alice")];
  });
  afterAll(async () => {
    mallory?.hangUp();
    alice?.hangUp();
    await server?.close();
  });

  test("is limited in its watches, and the victim can still watch", async () => {
    const opened = [];
    for (let at = 0; at < shares.watches; at += 1) opened.push(await mallory.watch());
    expect(opened).toEqual([200, 200, 200]);
    const refused = mallory.start("GET", "?watch=true");
    refused.end();
    expect(await mallory.answer(refused)).toEqual({ status: 429, retryAfter: "1" });
    expect(await alice.watch()).toBe(200);
  });

  test("blocks nobody else with request bodies that never end", async () => {
    const held = Array.from({ length: shares.requests + shares.waiting }, () => mallory.upload());
    // The server accepts connections in any order. It has all of them when it refuses one more.
    let refusal: Awaited<ReturnType<Caller["answer"]>>;
    do {
      const call = mallory.upload();
      const answered = mallory.answer(call);
      const asked = alice.send("POST", JSON.stringify({ metadata: { generateName: "mine-" } }));
      refusal = await Promise.race([answered, asked.then(() => ({ status: undefined, retryAfter: undefined }))]);
      expect((await asked).status).toBe(201);
    } while (refusal.status === undefined);
    expect(refusal).toEqual({ status: 429, retryAfter: "1" });
    for (const call of held) call.destroy();
  });

  test("is refused before parsing if its YAML would take long to parse", async () => {
    const entries = Array.from({ length: 200_000 }, (_, at) => `k${at}: v`);
    const bombs = [
      `metadata: {name: x}\ndata: {${entries.join(",")}}`,
      `metadata: {name: x}\ndata: ${"[".repeat(1_000_000)}`,
      "}\n".repeat(500_000),
    ];
    for (const bomb of bombs) expect((await mallory.send("POST", bomb, "application/yaml")).status).toBe(413);
    expect((await alice.send("POST", '{"metadata":{"generateName":"mine-"}}')).status).toBe(201);
  });
});
