import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TestApi } from "../testing/test-api.test.support.ts";

const snapshots = "/apis/snapshots.agents.x-k8s.io/v1alpha1/namespaces/default/sandboxsnapshots";

let api: TestApi;
beforeAll(async () => {
  api = await TestApi.start();
});
afterAll(() => api[Symbol.asyncDispose]());

const snapshot = (name: string, spec: object = { sandboxRef: { name: "box" } }): object => ({
  apiVersion: "snapshots.agents.x-k8s.io/v1alpha1",
  kind: "SandboxSnapshot",
  metadata: { name },
  spec,
});
const status = {
  conditions: [
    { type: "Ready", status: "True", reason: "Complete", message: "", lastTransitionTime: "2026-01-02T03:04:05Z" },
  ],
  depth: "Memory",
  sizeBytes: 1048576,
  sourceName: "box",
};

describe("a SandboxSnapshot", () => {
  test("is stored with its defaults and without a status that its creator wrote", async () => {
    const created = await api.create(snapshots, { ...snapshot("plain"), status });
    expect(created).toMatchObject({ spec: { volumes: "Include", deletionPolicy: "Delete" } });
    expect(created).not.toHaveProperty("status");
  });

  test("has a status subresource and the columns of a table", async () => {
    await api.create(snapshots, snapshot("listed"));
    expect(await api.merge(`${snapshots}/listed/status`, { status })).toMatchObject({ status: 200 });
    const { body } = await api.send("GET", `${snapshots}/listed`, undefined, {
      accept: "application/json;as=Table;v=v1;g=meta.k8s.io",
    });
    expect(body.columnDefinitions.map(({ name }: { name: string }) => name)).toEqual([
      "Name",
      "Sandbox",
      "Depth",
      "Size",
      "Ready",
      "Age",
    ]);
    expect(body.rows[0].cells.slice(0, 5)).toEqual(["listed", "box", "Memory", 1048576, "True"]);
  });

  test("keeps its source", async () => {
    await api.create(snapshots, snapshot("fixed"));
    expect(await api.merge(`${snapshots}/fixed`, { spec: { sandboxRef: { name: "other" } } })).toMatchObject({
      status: 422,
      body: { message: expect.stringContaining("sandboxRef is immutable") },
    });
    expect(await api.merge(`${snapshots}/fixed`, { spec: { deletionPolicy: "Retain" } })).toMatchObject({
      status: 200,
    });
  });
});
