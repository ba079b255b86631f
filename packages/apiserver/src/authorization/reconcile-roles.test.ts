import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { TestApi } from "../testing/test-api.test.support.ts";

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const roles = `${rbac}/clusterroles`;
const bindings = `${rbac}/clusterrolebindings`;
const apiGroup = "rbac.authorization.k8s.io";

let dataDir: string;
let api: TestApi;
beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), "apiserver-rbac-"));
  api = await TestApi.start({ dataDir });
});
afterEach(async () => {
  await api.server.close();
  rmSync(dataDir, { recursive: true });
});

async function restart(): Promise<void> {
  await api.server.close();
  api = await TestApi.start({ dataDir });
}

const revision = async (): Promise<string> =>
  (await api.send("GET", "/api/v1/namespaces")).body.metadata.resourceVersion;

describe("the roles everything relies on", () => {
  test("are there, with Kubernetes' names, labels and annotations", async () => {
    expect(await api.names(roles)).toEqual(
      expect.arrayContaining(["admin", "cluster-admin", "edit", "system:basic-user", "system:discovery", "view"]),
    );
    expect((await api.get(`${bindings}/cluster-admin`)).metadata).toMatchObject({
      labels: { "kubernetes.io/bootstrapping": "rbac-defaults" },
      annotations: { "rbac.authorization.kubernetes.io/autoupdate": "true" },
    });
  });

  test("are not written again when nothing is missing", async () => {
    const before = await revision();
    await restart();
    expect(await revision()).toBe(before);
  });

  test("get back what was taken away, and keep what was added", async () => {
    const extra = { verbs: ["get"], apiGroups: ["x"], resources: ["y"] };
    await api.merge(`${roles}/system:basic-user`, { rules: [extra] });
    await api.merge(`${bindings}/system:discovery`, { subjects: [{ kind: "User", apiGroup, name: "jane" }] });
    await api.send("DELETE", `${roles}/view`);
    await restart();
    expect((await api.get(`${roles}/system:basic-user`))["rules"]).toEqual([
      extra,
      expect.objectContaining({ resources: ["selfsubjectaccessreviews", "selfsubjectrulesreviews"] }),
      expect.objectContaining({ resources: ["selfsubjectreviews"] }),
    ]);
    expect((await api.get(`${bindings}/system:discovery`))["subjects"]).toEqual([
      { kind: "User", apiGroup, name: "jane" },
      { kind: "Group", apiGroup, name: "system:authenticated" },
    ]);
    expect((await api.get(`${roles}/view`))["rules"]).not.toEqual([]);
  });

  test("are left alone when their owner says so", async () => {
    const metadata = { annotations: { "rbac.authorization.kubernetes.io/autoupdate": "false" } };
    await api.merge(`${bindings}/system:discovery`, { metadata, subjects: [] });
    await restart();
    const { subjects = [] } = await api.get(`${bindings}/system:discovery`);
    expect(subjects).toEqual([]);
  });

  test("are bound as they should be, even when a binding named another role", async () => {
    await api.send("DELETE", `${bindings}/system:discovery`);
    const roleRef = { apiGroup, kind: "ClusterRole", name: "view" };
    await api.create(bindings, { metadata: { name: "system:discovery" }, roleRef });
    await restart();
    expect((await api.get(`${bindings}/system:discovery`))["roleRef"]).toMatchObject({ name: "system:discovery" });
  });
});

describe("an aggregated role", () => {
  const rule = { verbs: ["get"], apiGroups: ["acme.com"], resources: ["widgets"] };
  const holds = (role: { [key: string]: unknown }): boolean => JSON.stringify(role["rules"]).includes("acme.com");

  async function until(name: string, wanted: boolean): Promise<void> {
    const { body } = await api.send("GET", roles);
    const watching = await api.watch(`${roles}?watch=true&resourceVersion=${body.metadata.resourceVersion}`);
    let now = holds(await api.get(`${roles}/${name}`));
    while (now !== wanted) {
      const { object } = await watching.next();
      if (object.metadata.name === name) now = holds(object);
    }
    watching.stop();
  }

  test("takes in the rules of others, through all that build on it, and lets go of them", async () => {
    const labels = { "rbac.authorization.k8s.io/aggregate-to-view": "true" };
    await api.create(roles, { metadata: { name: "widgets", labels }, rules: [rule] });
    for (const name of ["view", "edit", "admin"]) await until(name, true);
    await api.merge(`${roles}/widgets`, {
      metadata: { labels: { "rbac.authorization.k8s.io/aggregate-to-view": null } },
    });
    for (const name of ["view", "edit", "admin"]) await until(name, false);
  });
});
