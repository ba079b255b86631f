import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { PersistentVolumeClaim, PodSpec } from "@agent-sandbox/api";
import { afterAll, beforeAll, expect, test } from "vitest";
import { layoutOf } from "../layout.ts";
import { persistentVolumes, storageClasses, volumeClaims } from "../resources.ts";
import { cannotRun } from "../testing/runtimes.ts";
import { isReady, namespace } from "../testing/test-api.ts";
import { isOver, openTestBox, soon, type TestBox } from "../testing/test-box.ts";
import { claimFolder, sizeAnnotation } from "./local-volume.ts";

function script(text: string, claimName: string, readOnly = false): { spec: Partial<PodSpec> } {
  return {
    spec: {
      restartPolicy: "Never",
      containers: [
        { name: "main", image: "host", command: ["sh", "-c", text], volumeMounts: [{ name: "v", mountPath: "/v" }] },
      ],
      volumes: [{ name: "v", persistentVolumeClaim: { claimName, readOnly } }],
    },
  };
}

let box: TestBox;
beforeAll(async () => {
  box = await openTestBox({ diskCheckMs: 200 });
});
afterAll(() => box[Symbol.asyncDispose]());

async function said(name: string, pod: { spec: Partial<PodSpec> }): Promise<string> {
  await box.create(name, pod);
  await box.api.until(name, isOver);
  const text = await box.log(name);
  await box.remove(name);
  return text;
}

const claimed = (name: string): PersistentVolumeClaim => ({
  metadata: { namespace, name },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
});

test.skipIf(cannotRun)("files in a claim are kept for the next Pod, and removed with the claim", async () => {
  const { client, server } = box.api;
  const { metadata } = await client.create(volumeClaims, claimed("data"));
  const folder = claimFolder(layoutOf(box.dataDir), metadata?.uid ?? "");
  expect(await said("writer", script("echo kept > /v/file; cat /v/file", "data"))).toBe("kept\n");
  expect(
    await said("reader", script("cat /v/file; (echo x > /v/y) 2>/dev/null || echo refused", "data", true)),
  ).toContain("kept\nrefused");
  const bound = server.read(volumeClaims, { namespace, name: "data" });
  expect(bound).toMatchObject({
    spec: { volumeName: `pvc-${metadata?.uid}` },
    status: { phase: "Bound", capacity: { storage: "1Gi" } },
  });
  expect((await stat(folder)).isDirectory()).toBe(true);
  await client.delete(volumeClaims, { namespace, name: "data" });
  const volume = { name: `pvc-${metadata?.uid}` };
  await expect.poll(() => server.read(persistentVolumes, volume), { timeout: 30_000 }).toBeUndefined();
  expect(existsSync(folder)).toBe(false);
});

test.skipIf(cannotRun)("a deleted claim stays while a Pod uses it, and is removed after the Pod", async () => {
  const { client, server } = box.api;
  const { metadata } = await client.create(volumeClaims, claimed("busy"));
  const folder = claimFolder(layoutOf(box.dataDir), metadata?.uid ?? "");
  await box.create("user", script("echo mine > /v/file; sleep infinity", "busy"));
  await expect.poll(() => existsSync(join(folder, "file")), soon).toBe(true);
  await client.delete(volumeClaims, { namespace, name: "busy" });
  const going = server.read(volumeClaims, { namespace, name: "busy" });
  expect(going?.metadata).toMatchObject({
    deletionTimestamp: expect.any(String),
    finalizers: ["kubernetes.io/pvc-protection"],
  });
  // The file exists a moment before the node knows that the container runs.
  await box.api.until("user", isReady);
  expect(await box.shell("user", "cat /v/file")).toBe("mine");
  await box.remove("user", 0);
  await expect.poll(() => server.read(volumeClaims, { namespace, name: "busy" }), soon).toBeUndefined();
  await expect.poll(() => server.read(persistentVolumes, { name: `pvc-${metadata?.uid}` }), soon).toBeUndefined();
  expect(existsSync(folder)).toBe(false);
});

test.skipIf(cannotRun)("a claim whose finalizer the tenant removes keeps its files while a Pod runs", async () => {
  const { client, server } = box.api;
  const { metadata } = await client.create(volumeClaims, claimed("forced"));
  const folder = claimFolder(layoutOf(box.dataDir), metadata?.uid ?? "");
  await box.create("holder", script("echo mine > /v/file; sleep infinity", "forced"));
  await expect.poll(() => existsSync(join(folder, "file")), soon).toBe(true);
  await client.delete(volumeClaims, { namespace, name: "forced" });
  const key = { namespace, name: "forced" };
  await client.patch(volumeClaims, key, { type: "merge", body: { metadata: { finalizers: [] } } });
  await expect.poll(() => server.read(volumeClaims, key), soon).toBeUndefined();
  // A new claim with the same name is another claim.
  await client.create(volumeClaims, claimed("forced"));
  await expect.poll(() => server.read(volumeClaims, key)?.status?.phase, soon).toBe("Bound");
  // The file exists a moment before the node knows that the container runs.
  await box.api.until("holder", isReady);
  expect(await box.shell("holder", "cat /v/file")).toBe("mine");
  await box.remove("holder", 0);
  await expect.poll(() => server.read(persistentVolumes, { name: `pvc-${metadata?.uid}` }), soon).toBeUndefined();
  expect(existsSync(folder)).toBe(false);
});

test.skipIf(cannotRun)("a claim that names another claim's volume does not get its files", async () => {
  const { client, server } = box.api;
  const { metadata } = await client.create(volumeClaims, claimed("victim"));
  const volumeName = `pvc-${metadata?.uid}`;
  await expect.poll(() => server.read(persistentVolumes, { name: volumeName })?.status?.phase, soon).toBe("Bound");
  const thief = claimed("thief");
  await client.create(volumeClaims, { ...thief, spec: { ...thief.spec, volumeName } });
  await box.create("thief", script("ls /v", "thief"));
  await expect.poll(() => box.events("thief").join("\n"), soon).toContain('claim "thief" is not bound yet');
  await box.remove("thief", 0);
  expect(server.read(persistentVolumes, { name: volumeName })?.spec?.claimRef?.name).toBe("victim");
});

test.skipIf(cannotRun)("a Pod waits for its claim", async () => {
  await box.create("waiting", script("echo here", "late"));
  await box.api.client.create(volumeClaims, claimed("late"));
  await box.api.until("waiting", isOver);
  expect(await box.log("waiting")).toBe("here\n");
});

test.skipIf(cannotRun)("an event reports a claim above its size if the filesystem does not enforce it", async () => {
  const { client, server } = box.api;
  const small = {
    ...claimed("small"),
    spec: { ...claimed("small").spec, resources: { requests: { storage: "1Mi" } } },
  };
  const { metadata } = await client.create(volumeClaims, small);
  await box.create("filler", script("head -c 3000000 /dev/zero > /v/file && echo full; sleep infinity", "small"));
  const volume = await expect
    .poll(() => server.read(persistentVolumes, { name: `pvc-${metadata?.uid}` }), soon)
    .toBeDefined()
    .then(() => server.read(persistentVolumes, { name: `pvc-${metadata?.uid}` }));
  const isEnforced = volume?.metadata?.annotations?.[sizeAnnotation] === "true";
  const outcome = (): string =>
    box.events("filler").find((text) => text.startsWith("VolumeOverfull")) ?? "nothing told";
  await expect
    .poll(async () => (isEnforced ? await box.log("filler") : outcome()), soon)
    .toMatch(
      isEnforced
        ? /No space left|quota exceeded/
        : // It may be looked at before all of it is written.
          /^VolumeOverfull: Claim "small" holds [1-3]\d{6} bytes, more than the 1048576/,
    );
  const figures = await text(await box.node.podStreams.metrics("/metrics"));
  expect(figures).toContain(
    'kubelet_volume_stats_capacity_bytes{namespace="default",persistentvolumeclaim="small"} 1048576',
  );
  await box.remove("filler");
});

test.skipIf(cannotRun)("the class local is the default class", async () => {
  expect(box.api.server.read(storageClasses, { name: "local" })?.metadata?.annotations).toEqual({
    "storageclass.kubernetes.io/is-default-class": "true",
  });
});
