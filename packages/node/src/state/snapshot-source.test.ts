import {
  type Pod,
  type Sandbox,
  type SandboxClaim,
  type SandboxSnapshot,
  sandboxClaims,
  sandboxes,
} from "@agent-sandbox/api";
import { beforeEach, describe, expect, test } from "vitest";
import type { PodRecord } from "../pod/record.ts";
import { pods } from "../resources.ts";
import { namespace, openTestApi, type TestApi } from "../testing/test-api.ts";
import { findSource } from "./snapshot-source.ts";

const run = { process: { pid: 1, start: 1 }, monitor: { pid: 2, start: 1 }, startedAt: 0, started: true };
const snapshotOf = (spec: SandboxSnapshot["spec"]): SandboxSnapshot =>
  ({ metadata: { namespace, name: "s", uid: "u" }, spec }) as SandboxSnapshot;

let api: TestApi;
let records: Map<string, PodRecord>;
let sandbox: Sandbox;
beforeEach(async () => {
  api = openTestApi();
  records = new Map();
  const podTemplate = { spec: { containers: [] } };
  sandbox = await api.client.create(sandboxes, {
    metadata: { namespace, name: "box" },
    spec: { podTemplate },
  } as unknown as Sandbox);
});

const find = (spec: SandboxSnapshot["spec"] = { sandboxRef: { name: "box" } }) => {
  const machine = { records: { read: async (uid: string) => records.get(uid), list: async () => records } };
  return findSource({ machine: machine as never, client: api.client }, snapshotOf(spec));
};
const notRunning = expect.objectContaining({ reason: "SourceNotRunning" });

async function createPod(metadata: Pod["metadata"] = {}, record: Partial<PodRecord> = {}): Promise<void> {
  const { uid: owner = "" } = sandbox.metadata;
  const made = await api.client.create(pods, {
    metadata: {
      namespace,
      name: "box",
      ownerReferences: [
        { apiVersion: sandboxes.apiVersion, kind: "Sandbox", name: "box", uid: owner, controller: true },
      ],
      ...metadata,
    },
    spec: { containers: [{ name: "main", image: "host" }] },
  });
  const uid = made.metadata?.uid ?? "";
  records.set(uid, {
    version: 1,
    uid,
    namespace,
    name: "box",
    address: "10.0.0.2",
    startTime: 0,
    prepared: true,
    keptFor: owner,
    containers: { main: { attempt: 0, runtime: "gvisor", run } },
    ...record,
  });
}

describe("the source of a snapshot", () => {
  test("is the running Pod of the Sandbox", async () => {
    await createPod();
    expect(await find()).toMatchObject({ sandbox: { metadata: { name: "box" } }, pod: { metadata: { name: "box" } } });
  });

  test("is the Sandbox of a claim", async () => {
    await api.client.create(sandboxClaims, {
      metadata: { namespace, name: "claim" },
      spec: { warmPoolRef: { name: "p" } },
      status: { sandbox: { name: "box" } },
    } as SandboxClaim);
    const patch = { type: "merge", body: { status: { sandbox: { name: "box" } } } } as const;
    await api.client.patch(sandboxClaims, { namespace, name: "claim" }, patch, { subresource: "status" });
    expect(await find({ claimRef: { name: "claim" } })).toMatchObject({ sandbox: { metadata: { name: "box" } } });
  });

  test("is a suspended Sandbox without a Pod", async () => {
    expect((await find()).pod).toBeUndefined();
  });

  test.for([
    ["a Sandbox that does not exist", { sandboxRef: { name: "other" } }],
    ["a claim that does not exist", { claimRef: { name: "other" } }],
  ] as const)("is not %s", async ([, spec]) => {
    await expect(find(spec)).rejects.toEqual(notRunning);
  });

  test.for([
    ["a Pod that is being deleted", { deletionTimestamp: "2026-01-01T00:00:00Z" }, {}],
    ["a Pod that is being saved", { annotations: { "agents.x-k8s.io/save": "0" } }, {}],
    ["a Pod of somebody else with the name of the Sandbox", { ownerReferences: [] }, {}],
    ["a Pod that is being prepared", {}, { prepared: false }],
    ["a Pod whose container has not started", {}, { containers: { main: { attempt: 0, runtime: "gvisor" } } }],
    ["a Pod that is being stopped", {}, { stoppingSince: 1 }],
  ] as const)("is not %s", async ([, metadata, record]) => {
    await createPod(metadata as never, record);
    await expect(find()).rejects.toEqual(notRunning);
  });

  test("is not a Sandbox whose Pod is gone from the API and still runs here", async () => {
    await createPod();
    const [record] = records.values();
    await api.client.delete(pods, { namespace, name: "box" }, { gracePeriodSeconds: 0 });
    expect(record).toBeDefined();
    await expect(find()).rejects.toEqual(notRunning);
  });
});
