import { type SandboxClaim, sandboxClaims } from "@agent-sandbox/api";
import { createClient } from "@agent-sandbox/kube";
import { MemoryApiServer, VirtualClock } from "@agent-sandbox/kube/testing";
import { beforeEach, expect, test } from "vitest";
import { environmentAnnotation } from "./compat-annotations.ts";
import { Environments } from "./environment.ts";

const namespace = "team-a";
const secrets = { apiVersion: "v1", kind: "Secret", plural: "secrets", namespaced: true } as const;

let server: MemoryApiServer;
beforeEach(() => {
  // The clock stands still, so nothing is collected.
  server = new MemoryApiServer({ resources: [sandboxClaims, secrets], scheduler: new VirtualClock() });
});

function claimOf(uid: string, name = "abc"): SandboxClaim {
  const annotations = { [environmentAnnotation]: "true" };
  return { ...sandboxClaims, metadata: { name, namespace, uid, annotations } } as unknown as SandboxClaim;
}

/** A server that has stored nothing in its memory yet. */
const environments = (): Environments => new Environments(createClient(server));

test("a claim of the same name has its own variables while those of the deleted one remain", async () => {
  await environments().store(claimOf("first"), { A: "old" });
  await environments().store(claimOf("second"), { A: "new" });
  expect(await environments().of(claimOf("second"))).toEqual({ A: "new" });
});

test("a deleted claim whose attempt goes on does not change those of the next one", async () => {
  await environments().store(claimOf("second"), { A: "new" });
  await environments().store(claimOf("first"), { A: "old" });
  expect(await environments().of(claimOf("second"))).toEqual({ A: "new" });
});

test("two attempts with the same claim store them once", async () => {
  await Promise.all([environments().store(claimOf("u"), { A: "a" }), environments().store(claimOf("u"), { A: "a" })]);
  expect(server.readAll(secrets)).toHaveLength(1);
  expect(await environments().of(claimOf("u"))).toEqual({ A: "a" });
});

async function addOlderSecret(owner: string): Promise<void> {
  const ownerReferences = [{ apiVersion: sandboxClaims.apiVersion, kind: sandboxClaims.kind, name: "abc", uid: owner }];
  const data = { "environment.json": Buffer.from(JSON.stringify({ A: "a" })).toString("base64") };
  const type = "compat.agents.x-k8s.io/environment";
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "abc-compat", namespace, ownerReferences },
    type,
    data,
  };
  await createClient(server).create(secrets, secret);
}

test("the Secret of an earlier version is read", async () => {
  await addOlderSecret("u");
  expect(await environments().of(claimOf("u"))).toEqual({ A: "a" });
});

test("a Secret of another claim is ignored", async () => {
  await addOlderSecret("other");
  expect(await environments().of(claimOf("u"))).toEqual({});
});
