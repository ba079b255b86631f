import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ApiServer, createApiServer } from "@agent-sandbox/apiserver";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { deleteObjects, namedBy } from "./delete.ts";

test.for([
  [
    ["sandbox/a", "pod/b"],
    [
      { type: "sandbox", name: "a" },
      { type: "pod", name: "b" },
    ],
  ],
  [
    ["sandbox", "a", "b"],
    [
      { type: "sandbox", name: "a" },
      { type: "sandbox", name: "b" },
    ],
  ],
  [[], []],
] as const)("reads %j", ([words, expected]) => {
  expect(namedBy(words)).toEqual(expected);
});

test.for([
  [["sandboxes"], /add the names of the objects/],
  [["sandbox/a", "b"], /write type\/name for each/],
  [["sandbox/"], /Cannot delete "sandbox\/"/],
  [["/a"], /Cannot delete "\/a"/],
  [["a/b/c"], /Cannot delete "a\/b\/c"/],
] as const)("refuses %j", ([words, expected]) => {
  expect(() => namedBy(words)).toThrow(expected);
});

describe("on a server", () => {
  const configMaps = "/api/v1/namespaces/default/configmaps";
  let root: string;
  let server: ApiServer;
  let said: string[];
  const kubeconfig = () => join(root, "kubeconfig");
  const left = async () => {
    const { body } = await server.transport.send({ method: "GET", path: configMaps });
    return (body as { items: { metadata: { name: string } }[] }).items.map(({ metadata }) => metadata.name);
  };

  beforeEach(async () => {
    root = mkdtempSync(join(tmpdir(), "delete-"));
    server = await createApiServer();
    (await server.listen()).writeKubeconfig(kubeconfig());
    for (const name of ["a", "b", "c"]) {
      await server.transport.send({ method: "POST", path: configMaps, body: { metadata: { name } } });
    }
    said = [];
    vi.spyOn(console, "log").mockImplementation((line: string) => void said.push(line));
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await server.close();
    rmSync(root, { recursive: true, force: true });
  });

  test("deletes the objects that exist and reports those that do not", async () => {
    const gone = deleteObjects(["cm", "a", "none", "b"], { kubeconfig: kubeconfig() });
    await expect(gone).rejects.toThrow("configmap/none not found; list them with: agent-sandbox get configmaps");
    expect(said).toEqual(["configmap/a deleted", "configmap/b deleted"]);
    expect(await left()).toEqual(["c"]);
    await deleteObjects(["cm/none"], { kubeconfig: kubeconfig(), ignoreNotFound: true });
  });

  test("deletes the objects in a file", async () => {
    const file = join(root, "objects.yaml");
    writeFileSync(file, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n");
    await deleteObjects([], { kubeconfig: kubeconfig(), filename: [file] });
    expect(await left()).toEqual(["a", "b"]);
  });

  test("requires either objects or a file", async () => {
    await expect(deleteObjects([], {})).rejects.toThrow("pass either objects to delete");
    await expect(deleteObjects(["cm/a"], { filename: ["x"] })).rejects.toThrow("pass either objects to delete");
  });
});
