import { type Sandbox, sandboxes } from "@agent-sandbox/api";
import { createApiServer } from "@agent-sandbox/apiserver";
import { createClient, type Transport } from "@agent-sandbox/kube";
import { MemoryApiServer } from "@agent-sandbox/kube/testing";
import { expect, test } from "vitest";
import type { RunningBox } from "../box/running-box.ts";
import type { Connection } from "./connect.ts";
import { createSandbox } from "./create-sandbox.ts";
import { defaultImage } from "./default-image.ts";

const connectionTo = (more: object): Connection => ({ namespace: "default", ...more }) as unknown as Connection;

/** A server whose version is this. */
function versionOf(body: unknown, status = 200): Connection {
  const send: Transport["send"] = async ({ path }) => {
    expect(path).toBe("/version");
    return { status, headers: {}, body };
  };
  return connectionTo({ transport: { send } });
}

test("the running box of this machine has an image, and is not asked", async () => {
  const send: Transport["send"] = async () => Promise.reject(new Error("asked"));
  const box = { url: "https://127.0.0.1:7643" } as RunningBox;
  expect(await defaultImage(connectionTo({ box, transport: { send } }))).toBe("host");
});

test("a box that a kubeconfig names has the same image", async () => {
  await using server = await createApiServer();
  expect(await defaultImage(connectionTo({ transport: server.transport }))).toBe("host");
});

test.for([
  ["Kubernetes", { gitVersion: "v1.36.3" }, 200],
  ["a distribution", { gitVersion: "v1.35.1+k3s1" }, 200],
  ["a server that imitates the name", { gitVersion: "v1.35.1+agent-sandbox.2" }, 200],
  ["a server that hides its version", { kind: "Status", gitVersion: "v1.36.3+agent-sandbox" }, 403],
  ["a server without a version", undefined, 200],
  ["a version that is not a text", { gitVersion: 1 }, 200],
  ["an answer that is not an object", "v1.36.3+agent-sandbox", 200],
] as const)("%s needs --image", async ([, body, status]) => {
  await expect(defaultImage(versionOf(body, status))).rejects.toThrow("name an image with --image");
});

test("nothing is created in a cluster without an image, and any image of the user's is taken without a question", async () => {
  const memory = new MemoryApiServer({ resources: [sandboxes] });
  const client = createClient(memory);
  const { transport } = versionOf({ gitVersion: "v1.36.3" });
  const connection = connectionTo({ client, transport });
  await expect(createSandbox(connection, { name: "a" })).rejects.toThrow("name an image with --image");
  expect((await client.list(sandboxes, { namespace: "default" })).items).toEqual([]);
  const silent = connectionTo({ client });
  const { spec }: Sandbox = await createSandbox(silent, { name: "a", image: "busybox:1.37" });
  expect(spec.podTemplate?.spec?.containers?.[0]?.image).toBe("busybox:1.37");
});
