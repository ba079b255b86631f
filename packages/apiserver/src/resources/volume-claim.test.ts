import { expect, test } from "vitest";
import { TestApi } from "../testing/test-api.test.support.ts";

const classes = "/apis/storage.k8s.io/v1/storageclasses";
const claims = "/api/v1/namespaces/default/persistentvolumeclaims";
const mark = "storageclass.kubernetes.io/is-default-class";
const storageClass = (name: string, annotations: object = { [mark]: "true" }): object => ({
  metadata: { name, annotations },
  provisioner: "example.com/disks",
});
const claim = (name: string, more: object = {}, annotations: object = {}): object => ({
  metadata: { name, annotations },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, ...more },
});

test("claims and volumes are created with the finalizer that protects them while they are in use", async () => {
  await using api = await TestApi.start();
  const finalizersOf = async (path: string, body: object): Promise<unknown> =>
    (await api.create(path, body)).metadata.finalizers;
  const own = { metadata: { name: "own", finalizers: ["a/b", "kubernetes.io/pvc-protection"] } };
  expect(await finalizersOf(claims, claim("new"))).toEqual(["kubernetes.io/pvc-protection"]);
  expect(await finalizersOf(claims, { ...claim("x"), ...own })).toEqual(["a/b", "kubernetes.io/pvc-protection"]);
  const volume = {
    metadata: { name: "volume", finalizers: ["a/b"] },
    spec: { accessModes: ["ReadWriteOnce"], capacity: { storage: "1Gi" }, hostPath: { path: "/x" } },
  };
  expect(await finalizersOf("/api/v1/persistentvolumes", volume)).toEqual(["a/b", "kubernetes.io/pv-protection"]);
});

test("a deleted claim is Terminating until its finalizer is removed", async () => {
  await using api = await TestApi.start();
  await api.create(claims, claim("going"));
  await api.send("DELETE", `${claims}/going`);
  const accept = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };
  const { body } = await api.send("GET", claims, undefined, accept);
  const [row] = (body as unknown as { rows: { cells: unknown[] }[] }).rows;
  expect(row?.cells.slice(0, 2)).toEqual(["going", "Terminating"]);
  const merge = { "content-type": "application/merge-patch+json" };
  await api.send("PATCH", `${claims}/going`, { metadata: { finalizers: null } }, merge);
  expect((await api.send("GET", `${claims}/going`)).status).toBe(404);
});

test("a claim without a storage class gets the newest default class", async () => {
  await using api = await TestApi.start();
  const classOf = async (body: object): Promise<unknown> => (await api.create(claims, body)).spec?.["storageClassName"];
  expect(await classOf(claim("early"))).toBeUndefined();
  await api.create(classes, storageClass("older"));
  await api.create(classes, storageClass("plain", { [mark]: "false" }));
  expect(await classOf(claim("first"))).toBe("older");
  api.clock.atMs += 1000;
  await api.create(classes, storageClass("newer"));
  await api.create(classes, storageClass("newest-with-a-later-name"));
  expect(await classOf(claim("second"))).toBe("newer");
  expect(await classOf(claim("named", { storageClassName: "plain" }))).toBe("plain");
  expect(await classOf(claim("none", { storageClassName: "" }))).toBe("");
  expect(await classOf(claim("old-way", {}, { "volume.beta.kubernetes.io/storage-class": "plain" }))).toBeUndefined();
});
