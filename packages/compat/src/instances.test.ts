import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ask, CompatWorld } from "./compat-world.test.support.ts";
import type { Compat } from "./start-compat.ts";

/** All state is in Kubernetes objects: a second or restarted server knows everything that another one did. */
describe("a second server", () => {
  let world: CompatWorld;
  let first: Compat;
  beforeEach(async () => {
    world = await CompatWorld.start();
    first = await world.listen();
  });
  afterEach(() => world[Symbol.asyncDispose]());

  test("knows the sandboxes of E2B's clients, with tokens, deadlines and states", async () => {
    const wanted = {
      templateID: "base",
      timeout: 600,
      metadata: { "a b": "c" },
      autoPause: true,
      autoResume: { enabled: true },
    };
    const made = await ask(first, "POST", "/e2b/v2/sandboxes", { body: wanted });
    const path = `/e2b/sandboxes/${String(made.body["sandboxID"])}`;
    const second = await world.listen();
    const shown = await ask(second, "GET", path);
    expect(shown.body).toMatchObject({ metadata: wanted.metadata, state: "running" });
    expect(shown.body["lifecycle"]).toEqual({ autoResume: true, onTimeout: "pause" });
    // Only the port in the address is the server's own.
    const { body } = await ask(first, "GET", path);
    expect({ ...shown.body, domain: "" }).toEqual({ ...body, domain: "" });
    const lists = await Promise.all([first, second].map((by) => ask(by, "GET", "/e2b/v2/sandboxes")));
    expect(lists[1]).toEqual(lists[0]);
    const tokens = ["envdAccessToken", "trafficAccessToken"];
    const connected = await ask(second, "POST", `/e2b/v2${path.slice(4)}/connect`, { body: { timeout: 60 } });
    expect(connected.status).toBe(200);
    for (const name of tokens) expect(connected.body[name]).toBe(made.body[name]);
    expect((await ask(second, "POST", `${path}/pause`, { body: {} })).status).toBe(204);
    expect((await ask(first, "GET", path)).body["state"]).toBe("paused");
    expect((await ask(first, "POST", `${path}/pause`, { body: {} })).status).toBe(409);
    expect((await ask(first, "POST", `/e2b/v2${path.slice(4)}/connect`, { body: {} })).status).toBe(201);
    expect((await ask(second, "GET", path)).body["state"]).toBe("running");
    expect((await ask(second, "DELETE", path)).status).toBe(204);
    await expect.poll(async () => (await ask(first, "GET", path)).status).toBe(404);
  });

  test("goes on with pages of lists that another one began", async () => {
    const second = await world.listen();
    const made = await Promise.all(
      Array.from({ length: 5 }, () => ask(first, "POST", "/e2b/v2/sandboxes", { body: { templateID: "base" } })),
    );
    const seen: string[] = [];
    let token = "";
    for (const by of [first, second, first]) {
      const answer = await fetch(`${by.url}/e2b/v2/sandboxes?limit=2&nextToken=${token}`, {
        headers: { "x-api-key": "user" },
      });
      token = answer.headers.get("x-next-token") ?? "";
      seen.push(...((await answer.json()) as { sandboxID: string }[]).map(({ sandboxID }) => sandboxID));
    }
    expect(token).toBe("");
    expect(new Set(seen)).toEqual(new Set(made.map(({ body }) => body["sandboxID"])));
  });

  test("knows the sandboxes of OpenSandbox's clients", async () => {
    const wanted = { templateId: "base", resourceLimits: {}, timeout: 600, metadata: { team: "a" } };
    const made = await ask(first, "POST", "/v1/sandboxes", { body: wanted });
    const path = `/v1/sandboxes/${String(made.body["id"])}`;
    const second = await world.listen();
    await expect.poll(async () => (await ask(second, "GET", path)).body["status"]).toMatchObject({ state: "Running" });
    expect(await ask(second, "GET", path)).toEqual(await ask(first, "GET", path));
    expect((await ask(second, "POST", `${path}/pause`)).status).toBe(202);
    await expect.poll(async () => (await ask(first, "GET", path)).body["status"]).toMatchObject({ state: "Paused" });
    expect((await ask(first, "POST", `${path}/resume`)).status).toBe(202);
    await expect.poll(async () => (await ask(second, "GET", path)).body["status"]).toMatchObject({ state: "Running" });
    expect((await ask(second, "DELETE", path)).status).toBe(204);
    await expect.poll(async () => (await ask(first, "GET", path)).status).toBe(404);
  });
});
