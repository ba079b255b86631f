import type { Client } from "@agent-sandbox/kube";
import { describe, expect, test } from "vitest";
import type { SubjectAccessReview, TokenReview } from "../cluster/resources.ts";
import { AccessReviewer } from "./access-reviewer.ts";
import { tenantOf } from "./caller.ts";
import { reviewedUser, TokenReviewer } from "./token-reviewer.ts";

/** An API server whose responses to `create` are controlled by the test. */
function answering(answer: (object: unknown) => Promise<unknown>): { client: Client; asked: unknown[] } {
  const asked: unknown[] = [];
  const create = (_: unknown, object: unknown): Promise<unknown> => {
    asked.push(object);
    return answer(object);
  };
  return { client: { create } as unknown as Client, asked };
}

describe("TokenReviewer", () => {
  const reviewer = (client: Client, clock: { now: number }) =>
    new TokenReviewer({ client, audiences: [], ttlMs: 1000, cacheSize: 4, now: () => clock.now });
  const users = (object: unknown): Promise<unknown> => {
    const { token } = (object as TokenReview).spec;
    const isUser = token.startsWith("user");
    return Promise.resolve({
      status: isUser ? { authenticated: true, user: { username: token } } : { authenticated: false },
    });
  };

  test("shares one review among concurrent requests and repeats it when the cache expires", async () => {
    const clock = { now: 0 };
    const { client, asked } = answering(users);
    const tokens = reviewer(client, clock);
    const found = await Promise.all([1, 2, 3].map(() => tokens.userOf("user-a", "10.0.0.1")));
    expect([found.map((user) => user?.username), asked.length]).toEqual([["user-a", "user-a", "user-a"], 1]);
    clock.now = 999;
    await tokens.userOf("user-a", "10.0.0.1");
    clock.now = 1000;
    await tokens.userOf("user-a", "10.0.0.1");
    expect(asked).toHaveLength(2);
  });

  test("caches refusals, and invented tokens do not evict those of users", async () => {
    const { client, asked } = answering(users);
    const tokens = reviewer(client, { now: 0 });
    await tokens.userOf("user-a", "10.0.0.1");
    for (let index = 0; index < 10; index += 1)
      expect(await tokens.userOf(`made-up-${index}`, "10.0.0.1")).toBeUndefined();
    await tokens.userOf("made-up-9", "10.0.0.1");
    await tokens.userOf("user-a", "10.0.0.1");
    expect(asked).toHaveLength(11);
  });

  test("caches a failure for one second", async () => {
    const clock = { now: 0 };
    const { client, asked } = answering(() => Promise.reject(new Error("down")));
    const tokens = reviewer(client, clock);
    for (const now of [0, 999, 1000]) {
      clock.now = now;
      await expect(tokens.userOf("user-a", "10.0.0.1")).rejects.toThrow("Cannot review the token");
    }
    expect(asked).toHaveLength(2);
  });

  test("limits concurrent reviews per tenant", async () => {
    const { client, asked } = answering(() => new Promise(() => undefined));
    const tokens = reviewer(client, { now: 0 });
    for (let index = 0; index < 256; index += 1) void tokens.userOf(`user-${index}`, "10.0.0.1");
    await expect(tokens.userOf("one-more", "10.0.0.1")).rejects.toThrow("too many calls are in progress");
    expect(asked).toHaveLength(256);
  });

  test("invented tokens of one address block neither other addresses nor known tokens", async () => {
    const clock = { now: 0 };
    let isHanging = false;
    const { client, asked } = answering((object) => (isHanging ? new Promise(() => undefined) : users(object)));
    const tokens = reviewer(client, clock);
    await tokens.userOf("user-a", "10.0.0.1");
    clock.now = 1000;
    isHanging = true;
    for (let index = 0; index < 300; index += 1) tokens.userOf(`made-up-${index}`, "10.0.0.1").catch(() => undefined);
    const before = asked.length;
    void tokens.userOf("user-a", "10.0.0.1");
    void tokens.userOf("user-b", "10.0.0.2");
    expect(asked.length - before).toBe(2);
  });
});

test.for([
  ["system:serviceaccount:team:a", "namespace team"],
  ["system:serviceaccount:team:b", "namespace team"],
  ["system:serviceaccount:", "user system:serviceaccount:"],
  ["alice", "user alice"],
] as const)("the share of %s is that of %s", ([username, expected]) => {
  expect(tenantOf({ username })).toBe(expected);
});

test.for<[string, TokenReview["status"], string[], string | undefined]>([
  ["a user", { authenticated: true, user: { username: "a" } }, [], "a"],
  ["nobody", { authenticated: false, user: { username: "a" } }, [], undefined],
  ["a user without a name", { authenticated: true, user: { username: "" } }, [], undefined],
  ["a token for us", { authenticated: true, user: { username: "a" }, audiences: ["x", "router"] }, ["router"], "a"],
  ["a token for another", { authenticated: true, user: { username: "a" }, audiences: ["x"] }, ["router"], undefined],
  ["a server that ignores audiences", { authenticated: true, user: { username: "a" } }, ["router"], undefined],
])("reads %s", ([, status, audiences, expected]) => {
  expect(reviewedUser({ spec: { token: "" }, ...(status === undefined ? {} : { status }) }, audiences)?.username).toBe(
    expected,
  );
});

describe("AccessReviewer", () => {
  test("reviews access once for each user and Sandbox", async () => {
    const { client, asked } = answering((object) => {
      const { user, resourceAttributes } = (object as SubjectAccessReview).spec;
      return Promise.resolve({ status: { allowed: user === "a" && resourceAttributes.name === "box" } });
    });
    const access = new AccessReviewer({ client, ttlMs: 1000, cacheSize: 10, now: () => 0 });
    const may = (username: string, name: string) => access.mayConnect({ username }, "default", name);
    expect([await may("a", "box"), await may("a", "box"), await may("a", "other"), await may("b", "box")]).toEqual([
      true,
      true,
      false,
      false,
    ]);
    expect(asked).toHaveLength(3);
    expect((asked[0] as SubjectAccessReview).spec.resourceAttributes).toEqual({
      group: "agents.x-k8s.io",
      resource: "sandboxes",
      verb: "connect",
      namespace: "default",
      name: "box",
    });
  });

  test("limits concurrent reviews per tenant", async () => {
    const { client, asked } = answering(() => new Promise(() => undefined));
    const access = new AccessReviewer({ client, ttlMs: 1000, cacheSize: 10, now: () => 0 });
    for (let index = 0; index < 256; index += 1) void access.mayConnect({ username: "a" }, "n", `made-up-${index}`);
    await expect(access.mayConnect({ username: "a" }, "n", "box")).rejects.toThrow("too many calls are in progress");
    expect(asked).toHaveLength(256);
    void access.mayConnect({ username: "b" }, "n", "box");
    expect(asked).toHaveLength(257);
  });

  test("invented names do not evict the access of users", async () => {
    const { client, asked } = answering((object) => {
      const { resourceAttributes } = (object as SubjectAccessReview).spec;
      return Promise.resolve({ status: { allowed: resourceAttributes.name === "box" } });
    });
    const access = new AccessReviewer({ client, ttlMs: 1000, cacheSize: 10, now: () => 0 });
    await access.mayConnect({ username: "a" }, "n", "box");
    for (let index = 0; index < 20; index += 1) await access.mayConnect({ username: "b" }, "n", `made-up-${index}`);
    expect([await access.mayConnect({ username: "a" }, "n", "box"), asked.length]).toEqual([true, 21]);
  });

  test("a denial overrides an allowance, and failures are not cached", async () => {
    let answers = [{ status: { allowed: true, denied: true } }];
    const { client } = answering(() =>
      answers.length > 0 ? Promise.resolve(answers.pop()) : Promise.reject(new Error("down")),
    );
    const access = new AccessReviewer({ client, ttlMs: 1000, cacheSize: 10, now: () => 0 });
    expect(await access.mayConnect({ username: "a" }, "n", "denied")).toBe(false);
    await expect(access.mayConnect({ username: "a" }, "n", "later")).rejects.toThrow("down");
    answers = [{ status: { allowed: true, denied: false } }];
    expect(await access.mayConnect({ username: "a" }, "n", "later")).toBe(true);
  });
});
