import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { TestApi, type TestObject } from "../testing/test-api.test.support.ts";

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

describe("default roles and bindings", () => {
  test("exist with Kubernetes' names, labels and annotations", async () => {
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

  test("get removed rules back and keep added ones", async () => {
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

  test("are not changed when the autoupdate annotation is false", async () => {
    const metadata = { annotations: { "rbac.authorization.kubernetes.io/autoupdate": "false" } };
    await api.merge(`${bindings}/system:discovery`, { metadata, subjects: [] });
    await restart();
    const { subjects = [] } = await api.get(`${bindings}/system:discovery`);
    expect(subjects).toEqual([]);
  });

  test("are replaced when a binding refers to another role", async () => {
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

  /** The names of aggregated roles that have the rule, once there are `count` of them. */
  async function holders(count: number): Promise<string[]> {
    const { body } = await api.send("GET", roles);
    const watching = await api.watch(`${roles}?watch=true&resourceVersion=${body.metadata.resourceVersion}`);
    const aggregated = (body.items as TestObject[]).filter((role) => role["aggregationRule"] !== undefined);
    const state = new Map(aggregated.map((role) => [role.metadata.name, holds(role)]));
    const holding = (): string[] => [...state].filter(([, held]) => held).map(([name]) => name);
    while (holding().length !== count) {
      const { object } = await watching.next();
      if (state.has(object.metadata.name)) state.set(object.metadata.name, holds(object));
    }
    watching.stop();
    return holding();
  }

  test("includes the rules of selected roles, also transitively, and drops them again", async () => {
    const labels = { "rbac.authorization.k8s.io/aggregate-to-view": "true" };
    await api.create(roles, { metadata: { name: "widgets", labels }, rules: [rule] });
    expect(await holders(3)).toEqual(["admin", "edit", "view"]);
    await api.merge(`${roles}/widgets`, {
      metadata: { labels: { "rbac.authorization.k8s.io/aggregate-to-view": null } },
    });
    expect(await holders(0)).toEqual([]);
  });
});
