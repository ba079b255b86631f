import type { Method } from "@agent-sandbox/kube";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { accountIdentity, anonymous, type Identity } from "../auth/identity.ts";
import { Tenant } from "../testing/tenant.test.support.ts";
import { configMap, pod, sandbox, TestApi } from "../testing/test-api.test.support.ts";

interface Route {
  readonly apiVersion: string;
  /** `pods`, or `pods/exec`. */
  readonly name: string;
  readonly namespaced: boolean;
}

let api: TestApi;
let routes: readonly Route[];
let edit: Tenant;
let view: Tenant;
let admin: Tenant;

beforeAll(async () => {
  api = await TestApi.start({ nodeName: "box" });
  edit = await Tenant.join(api, "own");
  view = await Tenant.join(api, "own", { role: "view" });
  admin = await Tenant.join(api, "own", { role: "admin" });
  const victim = await Tenant.join(api, "victim");
  await api.create(victim.core("pods"), pod("x"));
  await api.create(victim.core("configmaps"), configMap("x"));
  await api.create(victim.core("secrets"), { metadata: { name: "x" }, stringData: { key: "private" } });
  await api.create(victim.sandboxes(), sandbox("x"));
  // A kind that the roles do not know.
  await api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", widgets);
  routes = await discover();
});
afterAll(() => api.server.close());

const widgets = {
  metadata: { name: "widgets.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object" } },
        subresources: { status: {} },
      },
    ],
  },
};

/** All resources in discovery, so that new resources are covered without a change here. */
async function discover(): Promise<Route[]> {
  const { body } = await api.send("GET", "/apis");
  const versions = body.groups.flatMap((group: { versions: { groupVersion: string }[] }) =>
    group.versions.map(({ groupVersion }) => groupVersion),
  );
  const lists = await Promise.all(
    ["v1", ...versions].map(async (apiVersion: string) => {
      const { body: list } = await api.send("GET", root(apiVersion));
      return list.resources.map(({ name, namespaced }: Route) => ({ apiVersion, name, namespaced }));
    }),
  );
  return lists.flat();
}

const root = (apiVersion: string): string => (apiVersion === "v1" ? "/api/v1" : `/apis/${apiVersion}`);

/** The paths of a resource in one namespace: its collection and an object, or a subresource of an object. */
function paths({ apiVersion, name }: Route, namespace: string | undefined): string[] {
  const [plural = "", part] = name.split("/");
  const collection = `${root(apiVersion)}${namespace === undefined ? "" : `/namespaces/${namespace}`}/${plural}`;
  if (part !== undefined) return [`${collection}/x/${part}`];
  return [collection, `${collection}?watch=true`, `${collection}/x`, `${collection}?fieldSelector=metadata.name=x`];
}

const methods: readonly Method[] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

interface Asked {
  readonly identity: Identity;
  readonly namespace: string | undefined;
}

/** The requests that were not answered with 403. */
async function permitted(wanted: readonly Route[], { identity, namespace }: Asked): Promise<string[]> {
  const found: string[] = [];
  for (const route of wanted) {
    for (const path of paths(route, namespace)) {
      for (const method of methods) {
        const headers = { "content-type": "application/merge-patch+json" };
        const signal = AbortSignal.timeout(60_000);
        const request = { method, path, headers, signal, ...(method === "GET" ? {} : { body: {} }) };
        const { status } = await api.server.transportAs(identity).stream(request);
        if (status !== 403) found.push(`${method} ${path}`);
      }
    }
  }
  return found;
}

const revision = async (): Promise<string> => (await api.get("/api/v1/namespaces")).metadata.resourceVersion;

/** Reviews that everybody may create about themselves. */
const isSelfReview = (request: string): boolean =>
  /^POST .*\/self(subjectreviews|subjectaccessreviews|subjectrulesreviews)\b/.test(request);

describe("on all resources of the server", () => {
  const whoever: readonly (readonly [string, () => Identity])[] = [
    ["edit", () => edit.identity],
    ["view", () => view.identity],
    ["admin", () => admin.identity],
    ["an account without roles", () => accountIdentity({ namespace: "own", name: "default" })],
    [
      "an account named like the controllers'",
      () => accountIdentity({ namespace: "own", name: "agent-sandbox-controller" }),
    ],
  ];

  test.for(whoever)(
    "%s does nothing in another namespace, and the victim's objects stay as they were",
    async ([, who]) => {
      const before = await revision();
      expect(routes.length).toBeGreaterThan(60);
      const namespaced = routes.filter((route) => route.namespaced);
      expect(await permitted(namespaced, { identity: who(), namespace: "victim" })).toEqual([]);
      expect(await revision()).toBe(before);
    },
  );

  test.for(whoever)("%s does nothing in all namespaces at once", async ([, who]) => {
    const namespaced = routes.filter((route) => route.namespaced && !route.name.includes("/"));
    expect(await permitted(namespaced, { identity: who(), namespace: undefined })).toEqual([]);
  });

  test.for(whoever)("%s does nothing to cluster-scoped objects but ask about themselves", async ([, who]) => {
    const before = await revision();
    const clusterScoped = routes.filter((route) => !route.namespaced);
    const found = await permitted(clusterScoped, { identity: who(), namespace: undefined });
    expect(found.filter((each) => !isSelfReview(each))).toEqual([]);
    expect(await revision()).toBe(before);
  });

  test("anonymous callers reach no resource at all", async () => {
    for (const namespace of ["own", "victim"]) {
      expect(await permitted(routes, { identity: anonymous, namespace })).toEqual([]);
    }
  });
});

describe("in their own namespace", () => {
  const changes = new Set(["POST", "PUT", "PATCH", "DELETE"]);

  /** The resources and subresources that a role may change. */
  async function changed(tenant: Tenant): Promise<string[]> {
    const found = await permitted(
      routes.filter((route) => route.namespaced && !route.apiVersion.startsWith("authorization")),
      { identity: tenant.identity, namespace: "own" },
    );
    const names = found
      .filter((each) => changes.has(each.split(" ", 1)[0] as string))
      .map((each) =>
        each
          .replace(/^.*\/namespaces\/own\//, "")
          .replace(/\?.*/, "")
          .replace("/x", ""),
      );
    return [...new Set(names)].sort();
  }

  test("edit changes these and nothing else", async () => {
    expect(await changed(edit)).toEqual([
      "configmaps",
      "events",
      "leases",
      "networkpolicies",
      "persistentvolumeclaims",
      "pods",
      "pods/attach",
      "pods/eviction",
      "pods/exec",
      "pods/portforward",
      "pods/proxy",
      "podsnapshotmanualtriggers",
      "podsnapshots",
      "sandboxclaims",
      "sandboxes",
      "sandboxes/scale",
      "sandboxsnapshots",
      "sandboxtemplates",
      "sandboxwarmpools",
      "sandboxwarmpools/scale",
      "secrets",
      "serviceaccounts",
      "serviceaccounts/token",
      "services",
      "services/proxy",
    ]);
  });

  test("view changes nothing and reads no Secret", async () => {
    expect(await changed(view)).toEqual([]);
    const secrets = routes.filter(({ name }) => name === "secrets");
    expect(await permitted(secrets, { identity: view.identity, namespace: "own" })).toEqual([]);
  });

  test("nobody changes the Namespace itself", async () => {
    for (const tenant of [edit, admin]) {
      for (const [method, path] of [
        ["PUT", "/api/v1/namespaces/own"],
        ["PATCH", "/api/v1/namespaces/own"],
        ["DELETE", "/api/v1/namespaces/own"],
        ["PUT", "/api/v1/namespaces/own/status"],
        ["PUT", "/api/v1/namespaces/own/finalize"],
      ] as const) {
        expect((await tenant.send(method, path, {})).status).toBe(403);
      }
    }
  });
});

describe("paths that are not resources", () => {
  test.for([
    "/metrics",
    "/agent-sandbox/backup",
    "/agent-sandbox/metrics/router",
    "/logs",
    "/logs/x",
    "/debug/pprof",
    "/debug/pprof/heap",
    "/configz",
    "/flagz",
  ])("%s is refused", async (path) => {
    expect((await edit.send("GET", path)).status).toBe(403);
  });

  test.for([
    "/api/v1/namespaces/own/../victim/secrets/x",
    "/api/v1/namespaces/own%2f..%2fvictim/secrets/x",
    "/api/v1/namespaces/own/secrets/..%2f..%2fvictim%2fsecrets%2fx",
    "/api/v1//namespaces/victim/secrets/x",
    "/api/v1/namespaces/victim/secrets/x/",
    "/api/v1/namespaces/%76ictim/secrets/x",
    "/API/v1/namespaces/victim/secrets/x",
    "/api/v1/watch/namespaces/victim/secrets",
    "/api/v1/proxy/namespaces/victim/pods/x",
  ])("%s shows nothing of another namespace", async (path) => {
    const { status, body } = await edit.send("GET", path);
    expect([400, 403, 404]).toContain(status);
    expect(JSON.stringify(body)).not.toContain(Buffer.from("private").toString("base64"));
  });
});
