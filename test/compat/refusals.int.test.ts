import { createHash } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { whyNoBox } from "../e2e/box.ts";
import { CompatBox } from "./compat-box.ts";

const reason = whyNoBox();
if (reason !== undefined) console.warn(`skipped: the box ${reason}`);

interface Session {
  readonly sandboxID: string;
  readonly envdAccessToken: string;
  readonly trafficAccessToken: string;
}

interface Answer<T> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: T;
}

/** What the listener refuses: callers without rights, foreign sandboxes, options it cannot honour, hostile requests. */
describe.skipIf(reason !== undefined)("the listener for foreign clients", () => {
  let box: CompatBox;
  let keyA: string;
  let keyB: string;
  let own: Session;
  beforeAll(async () => {
    box = await CompatBox.start();
    keyA = box.key("team-a");
    keyB = box.key("team-b");
    own = (await call<Session>("POST", "/v2/sandboxes", { templateID: "base", timeout: 280, metadata: { a: "1" } }))
      .body;
  }, 180_000);
  afterAll(async () => await box?.[Symbol.asyncDispose](), 120_000);

  async function call<T = { code: number; message: string }>(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = { "x-api-key": keyA },
  ): Promise<Answer<T>> {
    const init = { method, headers: { "content-type": "application/json", ...headers } };
    const answer = await fetch(`${box.url}/e2b${path}`, {
      ...init,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, body: (text === "" ? undefined : JSON.parse(text)) as T };
  }

  const create = (body: object, headers?: Record<string, string>): Promise<Answer<{ code: number; message: string }>> =>
    call("POST", "/v2/sandboxes", { templateID: "base", ...body }, headers && { "x-api-key": keyA, ...headers });

  describe("keys", () => {
    test.for([
      ["none", {}],
      ["an unknown one (COMPAT-2)", { "x-api-key": "e2b_00" }],
      ["one with control characters", { "x-api-key": "a\tb" }],
      ["one that is too long", { "x-api-key": "x".repeat(10_000) }],
      ["one of another namespace", { "x-api-key": "e2b_@team-a" }],
    ] as const)("%s is refused with 401 and a code", async ([, headers]) => {
      const { status, body } = await call("GET", "/v2/sandboxes", undefined, headers as Record<string, string>);
      expect([status, body.code]).toEqual([401, 401]);
    });
    test("one without rights gets 403 that names the right (COMPAT-3)", async () => {
      const { status, body } = await call("GET", "/v2/sandboxes", undefined, {
        "x-api-key": box.key("team-a", "guest"),
      });
      expect([status, body.message]).toEqual([403, expect.stringContaining("sandboxclaims")]);
      const refused = await call(
        "POST",
        "/v2/sandboxes",
        { templateID: "base" },
        { "x-api-key": box.key("team-a", "guest") },
      );
      expect(refused.status).toBe(403);
    });
    test("one of a tenant for the namespace of another gets 403", async () => {
      const key = `${box.token("team-b")}@team-a`;
      expect((await call("GET", "/v2/sandboxes", undefined, { "x-api-key": key })).status).toBe(403);
    });
  });

  describe("a foreign sandbox", () => {
    const routes: readonly (readonly [string, string, object?])[] = [
      ["GET", ""],
      ["DELETE", ""],
      ["POST", "/timeout", { timeout: 10 }],
      ["POST", "/refreshes", { duration: 10 }],
      ["POST", "/connect", { timeout: 10 }],
      ["POST", "/resume", { timeout: 10 }],
      ["POST", "/pause", {}],
      ["POST", "/snapshots", {}],
      ["POST", "/fork", {}],
      ["PUT", "/network", {}],
      ["GET", "/metrics"],
    ];
    test.for(routes)("is not found by %s %s (COMPAT-4)", async ([method, rest, body]) => {
      const foreign = await call(method, `/sandboxes/${own.sandboxID}${rest}`, body, { "x-api-key": keyB });
      const absent = await call(method, `/sandboxes/${"a".repeat(20)}${rest}`, body, { "x-api-key": keyB });
      expect([foreign.status, foreign.body.code]).toEqual([404, 404]);
      expect(foreign.body.message.replace(own.sandboxID, "a".repeat(20))).toBe(absent.body.message);
    });
    test("is not found by the newer connect (COMPAT-4)", async () => {
      for (const id of [own.sandboxID, "a".repeat(20)]) {
        const { status, body } = await call("POST", `/v2/sandboxes/${id}/connect`, {}, { "x-api-key": keyB });
        expect([status, body.code]).toEqual([404, 404]);
      }
    });
    test("has snapshots that others can neither use nor delete", { timeout: 120_000 }, async () => {
      const taken = await call<{ snapshotID: string }>("POST", `/sandboxes/${own.sandboxID}/snapshots`, {});
      const { snapshotID } = taken.body;
      const foreign = { "x-api-key": keyB };
      const before = box.claims("team-b");
      const made = await call("POST", "/v2/sandboxes", { templateID: snapshotID }, foreign);
      const absent = await call("POST", "/v2/sandboxes", { templateID: "a".repeat(20) }, foreign);
      expect([made.status, made.body.message.replace(snapshotID, "a".repeat(20))]).toEqual([404, absent.body.message]);
      expect((await call("DELETE", `/templates/${snapshotID}`, undefined, foreign)).status).toBe(404);
      expect((await call("GET", "/snapshots", undefined, foreign)).body).toEqual([]);
      expect(box.claims("team-b")).toEqual(before);
      expect((await call("GET", "/snapshots")).body).toEqual([{ snapshotID, names: [] }]);
      const named = await call("GET", "/snapshots?name=mine");
      expect([named.status, named.body.message]).toEqual([400, expect.stringContaining("name is not supported")]);
      expect((await call("DELETE", `/templates/${snapshotID}`)).status).toBe(204);
    });
    test("has templates that others neither see nor use", async () => {
      const { kind, apiVersion, spec } = JSON.parse(
        box.kubectl("get", "sandboxtemplate", "base", "-n", "team-a", "-o", "json"),
      ) as Readonly<Record<string, unknown>>;
      await box.apply({ kind, apiVersion, spec, metadata: { name: "private", namespace: "team-a" } });
      expect((await call("GET", "/templates/aliases/private")).status).toBe(200);
      const foreign = { "x-api-key": keyB };
      expect((await call("GET", "/templates/aliases/private", undefined, foreign)).status).toBe(404);
      const { body } = await call<{ templateID: string }[]>("GET", "/templates", undefined, foreign);
      expect(body.map(({ templateID }) => templateID)).not.toContain("private");
      expect((await call("POST", "/v2/sandboxes", { templateID: "private" }, foreign)).status).toBe(404);
    });
    test("is in no list", async () => {
      for (const path of ["/v2/sandboxes", "/sandboxes", "/snapshots"]) {
        expect((await call(`GET`, path, undefined, { "x-api-key": keyB })).body).toEqual([]);
      }
    });
    test("refuses the tokens of others, and tells nothing about its state (COMPAT-32)", async () => {
      const other = (await call<Session>("POST", "/v2/sandboxes", { templateID: "base" }, { "x-api-key": keyB })).body;
      const ask = async (id: string, token: string, port = "49983"): Promise<unknown> => {
        const headers = { "e2b-sandbox-id": id, "e2b-sandbox-port": port, "x-access-token": token };
        const answer = await fetch(`${box.url}/health`, { headers });
        return [answer.status, await answer.text()];
      };
      const foreign = await ask(own.sandboxID, other.envdAccessToken);
      expect(foreign).toEqual(await ask("b".repeat(20), other.envdAccessToken));
      expect(foreign).toEqual([401, expect.stringContaining("invalid access token")]);
      expect(await ask(own.sandboxID, own.envdAccessToken)).toEqual([204, ""]);
      // The token of the daemon opens no port of the user.
      const traffic = { "e2b-sandbox-id": own.sandboxID, "e2b-sandbox-port": "3000" };
      const headers = { ...traffic, "e2b-traffic-access-token": own.envdAccessToken };
      expect((await fetch(box.url, { headers })).status).toBe(403);
    });
    test("refuses links that others signed", async () => {
      const other = (await call<Session>("POST", "/v2/sandboxes", { templateID: "base" }, { "x-api-key": keyB })).body;
      const digest = createHash("sha256").update(`/etc/passwd:read::${other.envdAccessToken}`).digest("base64");
      const signature = encodeURIComponent(`v1_${digest.replaceAll("=", "")}`);
      const url = `${box.url}/files?path=/etc/passwd&signature=${signature}`;
      expect((await fetch(url)).status).toBe(200);
      expect((await fetch(url, { headers: { "e2b-sandbox-id": own.sandboxID } })).status).toBe(401);
    });
  });

  describe("options", () => {
    test.for([
      ["a timeout above the maximum (COMPAT-9)", { timeout: 90_000 }, /24 hours/],
      ["a timeout of 0", { timeout: 0 }, /timeout/],
      ["auto-resume without auto-pause (COMPAT-10)", { autoResume: { enabled: true } }, /autoResume/],
      [
        "no memory with auto-resume (COMPAT-11)",
        { autoPause: true, autoPauseMemory: false, autoResume: { enabled: true } },
        /autoPauseMemory/,
      ],
      ["volume mounts (COMPAT-12)", { volumeMounts: [{ name: "v", path: "/v" }] }, /Volume mounts/],
      ["identities (COMPAT-12)", { iam: { tokens: { a: {} } } }, /iam/],
      ["egress rules (COMPAT-13)", { network: { denyOut: ["0.0.0.0/0"] } }, /network\.denyOut/],
      ["allowed hosts", { network: { allowOut: ["example.com"] } }, /network\.allowOut/],
      ["an egress proxy", { network: { egressProxy: { address: "x" } } }, /network\.egressProxy/],
      ["an unknown network option", { network: { future: true } }, /network\.future/],
      ["no internet without a template for it", { allow_internet_access: false }, /base-offline/],
      ["metadata that is not a map of texts", { metadata: { a: 1 } }, /metadata/],
      ["too much metadata", { metadata: { a: "x".repeat(300_000) } }, /metadata/],
      ["a variable with an invalid name", { envVars: { "a=b": "c" } }, /envVars/],
    ] as const)("%s are refused by name, and nothing is created", async ([, body, message]) => {
      const before = box.claims();
      const { status, body: answer } = await create(body);
      expect([status, answer.code]).toEqual([400, 400]);
      expect(answer.message).toMatch(message);
      expect(box.claims()).toEqual(before);
    });
    test.for(["nope", "../base", "team-b/base", "", "x".repeat(300)])(
      "the template %j (COMPAT-5)",
      async (templateID) => {
        const before = box.claims();
        const { status } = await create({ templateID });
        expect(status).toBe(templateID === "" ? 400 : 404);
        expect(box.claims()).toEqual(before);
      },
    );
    test("what is not offered answers 501 and that it need not be tried again", async () => {
      for (const [method, path] of [
        ["POST", "/v3/templates"],
        ["GET", "/volumes"],
        ["GET", "/secrets"],
      ] as const) {
        const { status, headers } = await call(method, path, method === "POST" ? {} : undefined);
        expect([status, headers.get("should-retry")]).toEqual([501, "false"]);
      }
    });
    test.for(["limit=0", "limit=101", "order=up", "nextToken=x", "metadata=%25", "state=gone", "startedAfter=soon"])(
      "the query %s of a list (COMPAT-18)",
      async (query) => expect((await call("GET", `/v2/sandboxes?${query}`)).status).toBe(400),
    );
    test("a body that is not a JSON object, or too long", async () => {
      for (const body of ["[]", "{", "null", `{"a":"${"x".repeat(3_000_000)}"}`]) {
        const answer = await fetch(`${box.url}/e2b/v2/sandboxes`, {
          method: "POST",
          headers: { "x-api-key": keyA },
          body,
        });
        expect(answer.status).toBe(body.length > 1000 ? 413 : 400);
      }
    });
  });

  test("the same idempotency key creates one sandbox, another body is refused (COMPAT-7, COMPAT-8)", async () => {
    const key = { "idempotency-key": "one-key" };
    const before = box.claims().length;
    const [first, second] = [await create({ timeout: 60 }, key), await create({ timeout: 60 }, key)];
    expect([first.status, second.status, second.body]).toEqual([201, 201, first.body]);
    expect(box.claims()).toHaveLength(before + 1);
    expect((await create({ timeout: 61 }, key)).status).toBe(409);
  }, 180_000);

  test("a key in a repeated create never ends a sandbox that was paused in the meantime (COMPAT-7)", async () => {
    const key = { "idempotency-key": "paused-key" };
    const first = await create({ timeout: 280 }, key);
    const { sandboxID } = first.body as unknown as Session;
    expect((await call("POST", `/sandboxes/${sandboxID}/pause`, {})).status).toBe(204);
    const again = await create({ timeout: 280 }, key);
    expect([again.status, again.body]).toEqual([201, first.body]);
    const { body } = await call<{ state: string }>("GET", `/sandboxes/${sandboxID}`);
    expect(body.state).toBe("paused");
  }, 180_000);

  test.for(["", "A", "a b", "../x", "é", "x".repeat(256)])("the idempotency key %j is refused", async (key) => {
    const before = box.claims();
    const { status, body } = await create({ timeout: 60 }, { "idempotency-key": key });
    expect([status, body.message]).toEqual([400, expect.stringContaining("Idempotency-Key")]);
    expect(box.claims()).toEqual(before);
  });

  test("the idempotency key of another tenant creates a sandbox of its own", async () => {
    const key = { "idempotency-key": "shared-key" };
    const first = await create({ timeout: 120 }, key);
    const body = { templateID: "base", timeout: 120 };
    const other = await call<Session>("POST", "/v2/sandboxes", body, { "x-api-key": keyB, ...key });
    expect([first.status, other.status]).toEqual([201, 201]);
    expect(other.body.sandboxID).not.toBe((first.body as unknown as Session).sandboxID);
    const found = await call("GET", `/sandboxes/${other.body.sandboxID}`);
    expect(found.status).toBe(404);
  }, 180_000);

  test("attempts with one idempotency key at the same time create one sandbox (COMPAT-7)", async () => {
    const before = box.claims().length;
    const key = { "idempotency-key": "many-at-once" };
    const answers = await Promise.all(Array.from({ length: 8 }, () => create({ timeout: 280 }, key)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
    expect(new Set(answers.map(({ body }) => (body as unknown as Session).sandboxID)).size).toBe(1);
    expect(box.claims()).toHaveLength(before + 1);
  }, 180_000);

  test("the older generation of create and connect: 15 s by default, and connect never shortens", async () => {
    interface Info {
      readonly startedAt: string;
      readonly endAt: string;
    }
    const made = await call<Session>("POST", "/sandboxes", { templateID: "base" });
    expect(made.status).toBe(201);
    const { sandboxID } = made.body;
    const info = async (): Promise<Info> => (await call<Info>("GET", `/sandboxes/${sandboxID}`)).body;
    const first = await info();
    // The time of the creation has whole seconds.
    const seconds = (Date.parse(first.endAt) - Date.parse(first.startedAt)) / 1000;
    expect(Math.abs(seconds - 15)).toBeLessThanOrEqual(1);
    const connected = await call<Session>("POST", `/sandboxes/${sandboxID}/connect`, { timeout: 200 });
    expect([connected.status, connected.body]).toEqual([200, made.body]);
    const { endAt } = await info();
    expect(Date.parse(endAt)).toBeGreaterThan(Date.parse(first.endAt));
    await call("POST", `/sandboxes/${sandboxID}/connect`, { timeout: 10 });
    expect((await info()).endAt).toBe(endAt);
    expect((await call("POST", `/sandboxes/${sandboxID}/pause`, {})).status).toBe(204);
    const resumed = await call<Session>("POST", `/sandboxes/${sandboxID}/resume`, { timeout: 200 });
    expect([resumed.status, resumed.body]).toEqual([201, made.body]);
  }, 180_000);

  test("metadata of any text is returned equal, and lists find it (COMPAT-14, COMPAT-15)", async () => {
    const metadata = { "a b": "c&d=%", "x/y": "emoji 🙂", long: "z".repeat(65_536) };
    const { body } = await create({ metadata });
    const id = (body as unknown as Session).sandboxID;
    const shown = await call<{ metadata: object }>("GET", `/sandboxes/${id}`);
    expect(shown.body.metadata).toEqual(metadata);
    const find = async (wanted: Readonly<Record<string, string>>): Promise<string[]> => {
      const pairs = Object.entries(wanted).map((pair) => pair.map(encodeURIComponent));
      const filter = encodeURIComponent(new URLSearchParams(pairs).toString());
      const found = await call<{ sandboxID: string }[]>("GET", `/v2/sandboxes?metadata=${filter}`);
      return found.body.map(({ sandboxID }) => sandboxID);
    };
    expect(await find({ "a b": "c&d=%" })).toEqual([id]);
    expect(await find({ "x/y": "emoji 🙂" })).toEqual([id]);
    expect(await find({ "x/y": "emoji 🙂", "a b": "c&d=%" })).toEqual([id]);
    expect(await find({ "x/y": "emoji 🙃" })).toEqual([]);
  });

  test("pages show every sandbox once while others come and go (COMPAT-17)", async () => {
    for (let index = 0; index < 4; index++) await create({ timeout: 120 });
    const seen: string[] = [];
    let token = "";
    do {
      const page = await call<{ sandboxID: string }[]>("GET", `/v2/sandboxes?limit=2&nextToken=${token}`);
      seen.push(...page.body.map(({ sandboxID }) => sandboxID));
      token = page.headers.get("x-next-token") ?? "";
      if (seen.length === 2) await create({ timeout: 120 });
    } while (token !== "");
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.length).toBeGreaterThanOrEqual(5);
  });

  test("requests that no client sends get an error, and the listener goes on", async () => {
    for (const path of ["//x/y", "/e2b", "/e2b/../e2b/health", "/files", "/%", "/process.Process/Start"]) {
      const answer = await fetch(box.url + path, { method: "POST", body: "x" });
      expect(answer.status).toBeGreaterThanOrEqual(204);
      expect(answer.status).toBeLessThan(500);
    }
    const headers = { "e2b-sandbox-id": own.sandboxID, "x-access-token": own.envdAccessToken };
    const send = async (path: string, type: string, body: Buffer | string): Promise<number> =>
      (await fetch(box.url + path, { method: "POST", headers: { ...headers, "content-type": type }, body })).status;
    expect(await send("/process.Process/List", "application/proto", "x")).toBe(415);
    expect(await send("/process.Process/List", "application/json", "[")).toBe(400);
    expect(await send("/process.Process/Unknown", "application/json", "{}")).toBe(404);
    expect(await send("/process.Process/constructor", "application/json", "{}")).toBe(404);
    expect(await send("/process.Process/SendInput", "application/json", '{"process":{"pid":-1}}')).toBe(400);
    // The length of a message that never comes, and a compressed one.
    expect(await send("/process.Process/Start", "application/connect+json", Buffer.from([0, 255, 255, 255, 255]))).toBe(
      200,
    );
    expect(await send("/process.Process/Start", "application/connect+json", Buffer.from([1, 0, 0, 0, 1, 0]))).toBe(200);
    expect(await send("/init", "application/json", "{}")).toBe(404);
    expect((await call("GET", "/health", undefined, {})).status).toBe(204);
  });
});
