import { crds } from "@agent-sandbox/api/crds";
import type { Transport, TransportRequest } from "@agent-sandbox/kube/requests";
import { describe, expect, test } from "vitest";
import { fetchJson, type ServedResource } from "./discovery.ts";
import { knownResources, withResources } from "./known-resources.ts";

const own = knownResources.filter(({ apiVersion }) => apiVersion.includes("/"));

test.each(own)("$plural has the names of its CRD", (known) => {
  const crd = crds.find(({ spec }) => spec.names.plural === known.plural);
  const { kind, singular, shortNames } = crd?.spec.names ?? {};
  const stored = crd?.spec.versions.find(({ storage }) => storage)?.name;
  expect(known).toMatchObject({ kind, singular, shortNames, apiVersion: `${crd?.spec.group}/${stored}` });
});

/** A server with these answers by path; other paths do not exist. */
function serverOf(answers: Readonly<Record<string, unknown>>): { transport: Transport; paths: string[] } {
  const paths: string[] = [];
  const send = async ({ path }: TransportRequest) => {
    paths.push(path);
    const body = answers[path];
    return body === undefined ? { status: 404, headers: {}, body: {} } : { status: 200, headers: {}, body };
  };
  return { transport: { send } as unknown as Transport, paths };
}

const old = {
  "/api": { kind: "APIGroupDiscoveryList", items: [] },
  "/apis": {
    kind: "APIGroupDiscoveryList",
    items: [
      {
        metadata: { name: "agents.x-k8s.io" },
        versions: [
          {
            version: "v1alpha1",
            resources: [{ resource: "sandboxes", responseKind: { kind: "Sandbox" }, scope: "Namespaced" }],
          },
        ],
      },
    ],
  },
};

describe("withResources()", () => {
  const read =
    (transport: Transport) =>
    async ([resource]: readonly ServedResource[]) =>
      fetchJson(transport, `/apis/${resource?.apiVersion}/${resource?.plural}`);

  test("asks no known server for its resources", async () => {
    const { transport, paths } = serverOf({ "/apis/agents.x-k8s.io/v1beta1/sandboxes": { items: [] } });
    expect(await withResources(transport, ["sandbox"], read(transport))).toEqual({ items: [] });
    expect(paths).toEqual(["/apis/agents.x-k8s.io/v1beta1/sandboxes"]);
  });

  test("uses the version of an older server", async () => {
    const { transport } = serverOf({ ...old, "/apis/agents.x-k8s.io/v1alpha1/sandboxes": { items: ["old"] } });
    expect(await withResources(transport, ["sandboxes"], read(transport))).toEqual({ items: ["old"] });
  });

  test.each(["sandboxclaims", "things"])("says that a server does not have %s", async (word) => {
    const { transport } = serverOf(old);
    const answer = withResources(transport, [word], read(transport));
    await expect(answer).rejects.toThrow(`the server doesn't have a resource type "${word}"`);
  });
});
