import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TestApi } from "../testing/test-api.test.support.ts";

let api: TestApi;
beforeAll(async () => {
  api = await TestApi.start();
});
afterAll(() => api[Symbol.asyncDispose]());

// oxlint-disable-next-line typescript/no-explicit-any
const document = async (path: string): Promise<any> => JSON.parse(String((await api.send("GET", path)).body));

interface Described {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Described>>;
  readonly allOf?: readonly { readonly $ref: string }[];
  readonly "x-kubernetes-group-version-kind"?: readonly { readonly kind: string }[];
}
/** Kubernetes does not describe these, or does not have them. */
const notDescribed = /\.(?:JSONSchemaProps|ExternalDocumentation)\.|\.SelfSubjectReview\.spec$/;

describe("OpenAPI 3", () => {
  test("has a document for each version at a URL with a hash of its content", async () => {
    const { paths } = await document("/openapi/v3");
    const { serverRelativeURL } = paths["apis/agents.x-k8s.io/v1beta1"];
    expect(serverRelativeURL).toMatch(/^\/openapi\/v3\/apis\/agents\.x-k8s\.io\/v1beta1\?hash=[0-9A-F]{64}$/);
    const answer = await api.send("GET", serverRelativeURL);
    expect(answer.headers).toMatchObject({
      "content-type": "application/json",
      "cache-control": "public, immutable",
      etag: `"${serverRelativeURL.split("=")[1]}"`,
    });
    expect((await api.send("GET", "/openapi/v3/apis/none.example/v1")).status).toBe(404);
  });

  test("contains every schema that it refers to", async () => {
    const { paths } = await document("/openapi/v3");
    for (const { serverRelativeURL } of Object.values<{ serverRelativeURL: string }>(paths)) {
      const text = JSON.stringify(await document(serverRelativeURL));
      const { components } = JSON.parse(text);
      const named = new Set([...text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name as string));
      expect([...named].filter((name) => components.schemas[name] === undefined)).toEqual([]);
    }
  });

  test("gives the kind of each path and the formats of patches", async () => {
    const { paths, components } = await document("/openapi/v3/api/v1");
    const { patch, get } = paths["/api/v1/namespaces/{namespace}/pods/{name}"];
    expect(get["x-kubernetes-group-version-kind"]).toEqual({ group: "", version: "v1", kind: "Pod" });
    expect(patch.parameters.map(({ name }: { name: string }) => name)).toContain("fieldValidation");
    expect(Object.keys(patch.requestBody.content)).toContain("application/strategic-merge-patch+json");
    const pod = components.schemas["io.k8s.api.core.v1.Pod"];
    expect(pod["x-kubernetes-group-version-kind"]).toEqual([{ group: "", version: "v1", kind: "Pod" }]);
    expect(pod.description).toMatch(/^Pod is a collection of containers/);
    expect(components.schemas["io.k8s.api.core.v1.PodSpec"].properties.containers).toMatchObject({
      "x-kubernetes-patch-strategy": "merge",
      "x-kubernetes-patch-merge-key": "name",
    });
    const sandboxes = await document("/openapi/v3/apis/agents.x-k8s.io/v1beta1");
    const path = sandboxes.paths["/apis/agents.x-k8s.io/v1beta1/namespaces/{namespace}/sandboxes/{name}"];
    expect(Object.keys(path.patch.requestBody.content)).not.toContain("application/strategic-merge-patch+json");
    expect(sandboxes.components.schemas["io.x-k8s.agents.v1beta1.Sandbox"].properties.spec.required).toEqual([
      "podTemplate",
    ]);
  });

  test("lists the allowed values of fields, which validation enforces", async () => {
    const { components } = await document("/openapi/v3/api/v1");
    const { PodSpec, Container } = {
      PodSpec: components.schemas["io.k8s.api.core.v1.PodSpec"].properties,
      Container: components.schemas["io.k8s.api.core.v1.Container"].properties,
    };
    expect(PodSpec.restartPolicy.enum).toEqual(["Always", "Never", "OnFailure"]);
    expect(Container.imagePullPolicy.enum).toEqual(["Always", "IfNotPresent", "Never"]);
    const spec = components.schemas["io.k8s.api.core.v1.PersistentVolumeClaimSpec"].properties;
    expect(spec.accessModes.items.enum).toContain("ReadWriteOnce");
    const pod = { metadata: { name: "p" }, spec: { restartPolicy: "x", containers: [{ name: "c", image: "i" }] } };
    const { status, body } = await api.send("POST", "/api/v1/namespaces/default/pods", pod);
    expect({ status, message: body.message }).toEqual({
      status: 422,
      message:
        'Pod "p" is invalid: spec.restartPolicy: Unsupported value: "x": supported values: "Always", "OnFailure", "Never"',
    });
  });

  test("describes every field of every built-in type and of our kinds", async () => {
    const { paths } = await document("/openapi/v3");
    const undescribed: string[] = [];
    for (const { serverRelativeURL } of Object.values<{ serverRelativeURL: string }>(paths)) {
      const { components } = await document(serverRelativeURL);
      for (const [name, schema] of Object.entries<Described>(components.schemas)) {
        const fields = Object.entries(schema.properties ?? {}).map(
          ([field, part]) => [`${name}.${field}`, part] as const,
        );
        for (const [path, part] of [[name, schema] as const, ...fields]) {
          if (part.description === undefined && !notDescribed.test(path)) undescribed.push(path);
        }
      }
    }
    expect(undescribed).toEqual([]);
  });

  test("is not sent again when the ETag matches", async () => {
    const first = await api.send("GET", "/openapi/v3/api/v1");
    const again = await api.send("GET", "/openapi/v3/api/v1", undefined, {
      "if-none-match": first.headers["etag"] as string,
    });
    expect(again).toMatchObject({ status: 304, body: "" });
  });

  test("is refused in an unsupported format", async () => {
    const accept = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf";
    expect((await api.send("GET", "/openapi/v3/api/v1", undefined, { accept })).status).toBe(406);
  });
});

describe("OpenAPI 2", () => {
  test("contains every definition that it refers to", async () => {
    const found = await document("/openapi/v2");
    expect(found.swagger).toBe("2.0");
    const text = JSON.stringify(found);
    expect(text).not.toContain("#/components");
    const named = new Set([...text.matchAll(/"#\/definitions\/([^"]+)"/g)].map(([, name]) => name as string));
    expect([...named].filter((name) => found.definitions[name] === undefined)).toEqual([]);
    expect(Object.keys(found.definitions)).toEqual(
      expect.arrayContaining(["io.k8s.api.core.v1.Pod", "io.x-k8s.agents.v1alpha1.Sandbox"]),
    );
    expect(found.definitions["io.k8s.apimachinery.pkg.api.resource.Quantity"]).toMatchObject({ type: "string" });
  });

  test("is also available as protobuf", async () => {
    const accept = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    const { body, headers } = await api.send("GET", "/openapi/v2", undefined, { accept });
    expect(headers["content-type"]).toBe("application/com.github.proto-openapi.spec.v2.v1.0+protobuf");
    expect(Buffer.from(body).subarray(0, 5).toString("latin1")).toBe("\n\x032.0");
    expect(Buffer.from(body).includes("io.k8s.api.core.v1.Pod")).toBe(true);
  });
});
