import { type Sandbox, type SandboxClaim, sandboxClaims, sandboxes } from "@agent-sandbox/api";
import { createClient } from "@agent-sandbox/kube";
import { MemoryApiServer } from "@agent-sandbox/kube/testing";
import { beforeEach, expect, test } from "vitest";
import type { Connection } from "./connect.ts";
import { findSandbox } from "./find-sandbox.ts";

let connection: Connection;

beforeEach(async () => {
  const client = createClient(new MemoryApiServer({ resources: [sandboxes, sandboxClaims] }));
  connection = { client, namespace: "default" } as unknown as Connection;
  const metadata = (name: string) => ({ name, namespace: "default" });
  await client.create(sandboxes, { metadata: metadata("pool-abc"), spec: {} } as Sandbox);
  const claims = [
    { metadata: metadata("mine"), spec: {}, status: { sandbox: { name: "pool-abc" } } },
    { metadata: metadata("waiting"), spec: {} },
    { metadata: metadata("stale"), spec: {}, status: { sandbox: { name: "deleted" } } },
  ];
  for (const claim of claims) await client.create(sandboxClaims, claim as unknown as SandboxClaim);
});

test.each(["pool-abc", "mine"])("%s finds the sandbox", async (name) => {
  expect((await findSandbox(connection, name)).metadata.name).toBe("pool-abc");
});

test.each([
  ["other", 'sandbox "other" not found in namespace "default"; list them with: agent-sandbox get sandboxes'],
  ["waiting", 'claim "waiting" has no sandbox yet'],
  ["stale", 'sandbox "stale" not found in namespace "default"'],
])("%s is refused", async (name, message) => {
  await expect(findSandbox(connection, name)).rejects.toThrow(message);
});
