import { createClient } from "@agent-sandbox/kube";
import { MemoryApiServer } from "@agent-sandbox/kube/testing";
import { expect, test } from "vitest";
import { runtimeClasses, syncRuntimeClasses } from "./runtime-classes.ts";

test("creates the classes of this machine and keeps those of others", async () => {
  const server = new MemoryApiServer({ resources: [runtimeClasses] });
  const client = createClient(server);
  await client.create(runtimeClasses, { metadata: { name: "theirs" }, handler: "kata" });
  await client.create(runtimeClasses, { metadata: { name: "runc" }, handler: "another" });
  const handlers = (): string[] =>
    server
      .readAll(runtimeClasses)
      .map(({ metadata, handler }) => `${metadata?.name}=${handler}`)
      .toSorted();

  await syncRuntimeClasses(client, { runtimes: ["gvisor", "runc"], allowedRuntimes: ["gvisor"] });
  expect(handlers()).toEqual(["gvisor=gvisor", "runc=another", "theirs=kata"]);
  await syncRuntimeClasses(client, { runtimes: ["runc"], allowedRuntimes: ["runc"] });
  expect(handlers()).toEqual(["runc=another", "theirs=kata"]);
});

test("each class says where its runtime is allowed, and is updated when that changes", async () => {
  const server = new MemoryApiServer({ resources: [runtimeClasses] });
  const client = createClient(server);
  // The API server creates it before the node has registered its runtimes.
  await client.create(runtimeClasses, { metadata: { name: "runc" }, handler: "runc" });
  const allowedIn = (name: string): string | undefined =>
    server.read(runtimeClasses, { name })?.metadata?.annotations?.["agents.x-k8s.io/allowed-in"];

  const kernels = new Map([["runc", "shared"]] as const);
  await syncRuntimeClasses(client, { runtimes: ["gvisor", "runc"], allowedRuntimes: ["gvisor"], kernels });
  const annotations = server.read(runtimeClasses, { name: "runc" })?.metadata?.annotations;
  expect(annotations?.["agents.x-k8s.io/kernel"]).toBe("shared");
  expect(allowedIn("gvisor")).toBe("all namespaces without the annotation");
  expect(allowedIn("runc")).toBe("namespaces whose annotation agents.x-k8s.io/allowed-runtimes names it");
  await syncRuntimeClasses(client, { runtimes: ["gvisor", "runc"], allowedRuntimes: ["gvisor", "runc"] });
  expect(allowedIn("runc")).toBe("all namespaces without the annotation");
});
