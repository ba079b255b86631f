import { describe, expect, test } from "vitest";
import { type Answer, pods, scripted, status } from "./scripted-client.test.support.ts";

const page = (names: string[], token?: string): Answer => ({
  body: { items: names.map((name) => ({ metadata: { name } })), metadata: { resourceVersion: "9", continue: token } },
});

describe("lists", () => {
  const expired: Answer = { status: 410, body: status(410, "Expired", "too old") };

  test("follow the continue token, transform page by page, and add the type to items", async () => {
    const { client, asked } = scripted([page(["a", "b"], "t1"), page(["c"])]);
    const seen: number[] = [];
    const list = await client.list(pods, { limit: 2 }, (pod) => {
      seen.push(asked.length);
      return pod;
    });
    expect(asked.map(({ path }) => path)).toEqual(["/api/v1/pods?limit=2", "/api/v1/pods?limit=2&continue=t1"]);
    expect(seen).toEqual([1, 1, 2]);
    expect(list).toEqual({
      items: ["a", "b", "c"].map((name) => ({ metadata: { name }, apiVersion: "v1", kind: "Pod" })),
      resourceVersion: "9",
    });
  });

  test("start again when the token expires, and finally list without pages", async () => {
    const { client, asked } = scripted([page(["a"], "t1"), expired, page(["a"], "t2"), expired, page(["a", "b"])]);
    const { items } = await client.list(pods);
    expect(items.map(({ metadata }) => metadata?.name)).toEqual(["a", "b"]);
    expect(asked.at(-1)?.path).toBe("/api/v1/pods");
  });

  test("fail when that expires too", async () => {
    const { client, asked } = scripted([expired, expired, expired, expired]);
    await expect(client.list(pods)).rejects.toMatchObject({ reason: "Expired" });
    expect(asked.length).toBe(3);
  });

  test("accept null for an empty list", async () => {
    const { client } = scripted([{ body: { items: null, metadata: { resourceVersion: "1" } } }]);
    expect(await client.list(pods)).toEqual({ items: [], resourceVersion: "1" });
  });

  test.for([{}, { items: {} }, { items: [] }, [], { kind: "Pod", metadata: { resourceVersion: "1" } }])(
    "reject %j",
    async (body) => {
      const { client } = scripted([{ body }]);
      await expect(client.list(pods)).rejects.toMatchObject({ reason: "InvalidResponse" });
    },
  );

  test("end although the server returns tokens forever", async () => {
    const { client, asked } = scripted(Array.from({ length: 10_001 }, () => page([], "again")));
    await expect(client.list(pods)).rejects.toThrow(/no end after 10000 pages/);
    expect(asked.length).toBe(10_000);
  });
});
