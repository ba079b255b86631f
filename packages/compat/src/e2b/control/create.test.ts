import { type SandboxClaim, sandboxClaims, sandboxes } from "@agent-sandbox/api";
import type { Informer } from "@agent-sandbox/kube";
import { createClient, silentLogger } from "@agent-sandbox/kube";
import { afterEach, beforeEach, expect, test } from "vitest";
import { faceLabel, idempotencyLabel, sandboxUidAnnotation } from "../../cluster/compat-annotations.ts";
import { removeUnanswered } from "../../cluster/unanswered.ts";
import { type Answer, ask, CompatWorld, namespace } from "../../compat-world.test.support.ts";
import type { Compat } from "../../start-compat.ts";

let world: CompatWorld;
let compat: Compat;
beforeEach(async () => {
  world = await CompatWorld.start();
  compat = await world.listen();
});
afterEach(() => world[Symbol.asyncDispose]());

const idOf = ({ body }: Answer): string => String(body["sandboxID"]);

const namesOf = (claims: readonly SandboxClaim[]): string[] =>
  claims.map(({ metadata }) => metadata.name ?? "").toSorted();

const body = { templateID: "base", timeout: 600 };
const headers = { "idempotency-key": "one-key" };
const create = (by = compat, more: object = {}): Promise<Answer> =>
  ask(by, "POST", "/e2b/v2/sandboxes", { body: { ...body, ...more }, headers });

test("attempts with one key at the same time create one sandbox, on every server", async () => {
  const second = await world.listen();
  const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => create(index % 2 ? second : compat)));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
  expect(new Set(answers.map(idOf)).size).toBe(1);
  expect([world.claims().length, world.sandboxes().length]).toEqual([1, 1]);
});

test("the same key of another user is another sandbox", async () => {
  const options = { body, headers: { ...headers, "x-api-key": "other" } };
  const [first, second] = [await create(), await ask(compat, "POST", "/e2b/v2/sandboxes", options)];
  expect([first.status, second.status]).toEqual([201, 201]);
  expect(idOf(second)).not.toBe(idOf(first));
  expect(idOf(first)).toMatch(/^[a-z][a-z0-9]{19}$/);
});

test("a sandbox that was paused since is returned as it is, and stays", async () => {
  const first = await create();
  expect((await ask(compat, "POST", `/e2b/sandboxes/${idOf(first)}/pause`, { body: {} })).status).toBe(204);
  const before = world.claims();
  expect(await create()).toEqual(first);
  expect(world.claims()).toEqual(before);
  expect(world.sandboxes()[0]?.spec.operatingMode).toBe("Suspended");
});

test("a sandbox that is not ready at the moment is returned as it is, and stays", async () => {
  const first = await create();
  world.isWorking = false;
  const name = `${idOf(first)}-box`;
  const status = { conditions: [{ type: "Ready", status: "False" }] };
  for (const [resource, key] of [
    [sandboxes, name],
    [sandboxClaims, idOf(first)],
  ] as const) {
    const patch = { type: "merge", body: { status } } as const;
    await world.client.patch(resource as typeof sandboxes, { namespace, name: key }, patch, { subresource: "status" });
  }
  expect(await create()).toEqual(first);
  expect(world.claims()).toHaveLength(1);
});

test("a sandbox whose machine was replaced is not found, and nothing is created", async () => {
  const first = await create();
  world.isWorking = false;
  await world.client.delete(sandboxes, { namespace, name: `${idOf(first)}-box` });
  expect((await create()).status).toBe(404);
  expect(world.claims()).toHaveLength(1);
});

test("the key of a sandbox that was killed creates another one", async () => {
  const first = await create();
  const uid = world.claims()[0]?.metadata.uid;
  expect((await ask(compat, "DELETE", `/e2b/sandboxes/${idOf(first)}`)).status).toBe(204);
  expect((await create()).status).toBe(201);
  expect(world.claims()[0]?.metadata.uid).not.toBe(uid);
});

test("another request with the key is refused", async () => {
  await create();
  expect((await create(compat, { timeout: 601 })).status).toBe(409);
});

test("an attempt goes on with the claim of one whose client is gone", async () => {
  world.isWorking = false;
  const gone = new AbortController();
  const lost = ask(compat, "POST", "/e2b/v2/sandboxes", { body, headers, signal: gone.signal });
  await expect.poll(() => world.claims().length).toBe(1);
  gone.abort();
  await expect(lost).rejects.toMatchObject({ name: "AbortError" });
  const [claim] = world.claims();
  const again = create();
  world.isWorking = true;
  await world.work();
  expect(idOf(await again)).toBe(claim?.metadata.name);
  expect(world.claims()[0]?.metadata.uid).toBe(claim?.metadata.uid);
});

test("an attempt that fails removes its claim, but not one that another attempt has answered with", async () => {
  const broken = createClient(
    world.server.connect(({ verb, resource }) =>
      verb === "patch" && resource.plural === sandboxClaims.plural
        ? { delayMs: 500, refuse: { reason: "Forbidden" } }
        : undefined,
    ),
  );
  const failing = await world.listen(broken);
  expect((await create(failing)).status).toBe(403);
  expect(world.claims()).toEqual([]);
  const [late, first] = await Promise.all([create(failing), create()]);
  expect([late.status, first.status]).toEqual([201, 201]);
  expect(idOf(late)).toBe(idOf(first));
  expect(namesOf(world.claims())).toEqual([idOf(first)]);
});

const aged = (name: string, seconds: number, labels: object, annotations: object = {}): SandboxClaim =>
  ({
    metadata: {
      name,
      namespace,
      labels: { [faceLabel]: "e2b", ...labels },
      annotations,
      creationTimestamp: new Date(Date.now() - seconds * 1000).toISOString(),
    },
    spec: { warmPoolRef: { name: "base" } },
  }) as SandboxClaim;

test("claims that nobody was told of are removed after two minutes, those with a key after a day", async () => {
  world.isWorking = false;
  const answered = { [sandboxUidAnnotation]: "uid" };
  const key = { [idempotencyLabel]: "hash" };
  const made = [
    aged("lost", 121, {}),
    aged("fresh", 60, {}),
    aged("answered", 121, {}, answered),
    aged("keyed", 86_000, key),
    aged("keyed-lost", 86_500, key),
    aged("keyed-answered", 86_500, key, answered),
    aged("foreign", 121, { [faceLabel]: "opensandbox" }),
    aged("changed", 121, {}),
  ];
  const stored = await Promise.all(made.map((claim) => world.client.create(sandboxClaims, claim)));
  const seen = made.map((claim, index) => {
    const { uid, resourceVersion } = stored[index]?.metadata ?? {};
    return { ...claim, metadata: { ...claim.metadata, uid, resourceVersion } } as SandboxClaim;
  });
  // Answered a moment ago, which the cache does not show yet.
  const patch = { type: "merge", body: { metadata: { annotations: answered } } } as const;
  await world.client.patch(sandboxClaims, { namespace, name: "changed" }, patch);
  const claims = { list: () => seen } as unknown as Informer<SandboxClaim>;
  await removeUnanswered(world.client, { claims }, { log: silentLogger, now: Date.now() });
  const left = ["answered", "changed", "foreign", "fresh", "keyed", "keyed-answered"];
  expect(namesOf(world.claims())).toEqual(left);
});
