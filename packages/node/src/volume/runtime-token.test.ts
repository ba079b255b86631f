import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Pod } from "@agent-sandbox/api";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ownRuntimeToken } from "./runtime-token.ts";

const secret = { name: "agent-sandbox-token", secret: { secretName: "my-sandbox-runtime" } };
const first = { name: "main", image: "workspace" };
const podWith = (...volumes: NonNullable<Pod["spec"]>["volumes"] & object): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "my-sandbox" },
  spec: { containers: [first, { name: "other", image: "workspace" }], volumes },
});

describe.skipIf(process.getuid?.() !== 0)("the token of the injected runtime", () => {
  let folder: string;
  const owner = (): number => statSync(join(folder, "token")).uid;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "runtime-token-"));
    writeFileSync(join(folder, "token"), "0123456789abcdef", { mode: 0o400 });
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  test("belongs to the user of the image, and stays private", async () => {
    await ownRuntimeToken(podWith(secret), first, folder, 1000);
    expect(statSync(join(folder, "token"))).toMatchObject({ uid: 1000, mode: 0o100_400 });
  });

  test.for([
    ["of a host folder that has the same name", podWith({ name: secret.name, hostPath: { path: "/srv" } }), first],
    ["when another container starts", podWith(secret), { name: "other", image: "workspace" }],
    ["when there is no such volume", podWith(), first],
  ] as const)("keeps its owner %s", async ([, pod, container]) => {
    await ownRuntimeToken(pod, container, folder, 1000);
    expect(owner()).toBe(0);
  });

  test("keeps its owner if everybody can read it, or if the user is root", async () => {
    await ownRuntimeToken(podWith(secret), first, folder, 0);
    chmodSync(join(folder, "token"), 0o444);
    await ownRuntimeToken(podWith(secret), first, folder, 1000);
    expect(owner()).toBe(0);
  });
});
