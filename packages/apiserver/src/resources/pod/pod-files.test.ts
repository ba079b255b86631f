import { afterAll, beforeAll, expect, test } from "vitest";
import { TestApi } from "../../testing/test-api.test.support.ts";

let api: TestApi;
beforeAll(async () => {
  api = await TestApi.start();
});
afterAll(() => api.server.close());

const key = (path: string, more: object = {}): object => ({ key: "k", path, ...more });
const name = { fieldRef: { fieldPath: "metadata.name" } };
const volume = (source: object): object => ({ volumes: [{ name: "v", ...source }] });
const aliases = (ip: string, ...hostnames: string[]): object => ({ hostAliases: [{ ip, hostnames }] });
const mount = (more: object): object => ({
  ...volume({ emptyDir: {} }),
  containers: [{ name: "c", image: "i", volumeMounts: [{ name: "v", mountPath: "/v", ...more }] }],
});

/** All of these values become paths or lines of files on the host. */
test.for<[field: string, message: string, spec: object]>([
  [
    "volumes[0].configMap.items[0].path",
    "must not contain '..'",
    volume({ configMap: { name: "c", items: [key("../x")] } }),
  ],
  [
    "volumes[0].secret.items[0].path",
    "must be a relative path",
    volume({ secret: { secretName: "s", items: [key("/x")] } }),
  ],
  [
    "volumes[0].secret.items[0].path",
    "must not start with '..'",
    volume({ secret: { secretName: "s", items: [key("..data")] } }),
  ],
  [
    "volumes[0].secret.items[0].mode",
    "0777",
    volume({ secret: { secretName: "s", items: [key("x", { mode: 0o4755 })] } }),
  ],
  ["volumes[0].configMap.items[0].path", "Required value", volume({ configMap: { name: "c", items: [key("")] } })],
  [
    "volumes[0].downwardAPI.path",
    "must not contain '..'",
    volume({ downwardAPI: { items: [{ path: "a/../../x", ...name }] } }),
  ],
  ["volumes[0].downwardAPI.mode", "0777", volume({ downwardAPI: { items: [{ path: "a", mode: -1, ...name }] } })],
  [
    "volumes[0].projected.sources[0].configMap.items[0].path",
    "must not contain '..'",
    volume({ projected: { sources: [{ configMap: { name: "c", items: [key("x/..")] } }] } }),
  ],
  [
    "volumes[0].projected.sources[1].secret.items[0].path",
    "must be a relative path",
    volume({
      projected: {
        sources: [{ downwardAPI: { items: [{ path: "a", ...name }] } }, { secret: { name: "s", items: [key("/x")] } }],
      },
    }),
  ],
  [
    "volumes[0].projected.path",
    "must not contain '..'",
    volume({ projected: { sources: [{ serviceAccountToken: { path: "../t" } }] } }),
  ],
  ["containers[0].volumeMounts.subPath", "must not contain '..'", mount({ subPath: "a/.." })],
  ["containers[0].volumeMounts.subPathExpr", "must be a relative path", mount({ subPathExpr: "/$(X)" })],
  ["containers[0].volumeMounts.subPathExpr", "mutually exclusive", mount({ subPath: "a", subPathExpr: "b" })],
  ["hostAliases[0].ip", "must be a valid IP address", aliases("1.2.3.4\n5.6.7.8 web")],
  ["hostAliases[0].hostnames[1]", "RFC 1123 subdomain", aliases("1.2.3.4", "a", "b\n5.6.7.8 web")],
  ["dnsConfig.nameservers[0]", "must be a valid IP address", { dnsConfig: { nameservers: ["1.1.1.1\nsearch x"] } }],
  ["dnsConfig.nameservers", "must not have more than 3", { dnsConfig: { nameservers: ["::1", "::2", "::3", "::4"] } }],
  ["dnsConfig.searches[0]", "'_', '-' or '.'", { dnsConfig: { searches: ["a\nnameserver 1.1.1.1"] } }],
  [
    "dnsConfig.searches",
    "2048 characters",
    { dnsConfig: { searches: Array.from({ length: 30 }, () => "a".repeat(70)) } },
  ],
  ["dnsConfig.options[0]", "must not be empty", { dnsConfig: { options: [{ value: "x" }] } }],
  ["hostname", "RFC 1123 label", { hostname: "a\nb" }],
  ["subdomain", "RFC 1123 label", { subdomain: "a/b" }],
])("spec.%s: %s", async ([field, message, spec]) => {
  const body = { metadata: { name: "p" }, spec: { containers: [{ name: "c", image: "i" }], ...spec } };
  const { status, body: answer } = await api.send("POST", "/api/v1/namespaces/default/pods", body);
  expect(status).toBe(422);
  const { causes } = (answer as unknown as { details: { causes: { field: string; message: string }[] } }).details;
  expect(causes).toEqual([
    { reason: expect.any(String), field: `spec.${field}`, message: expect.stringContaining(message) },
  ]);
});

test("accepts ordinary paths and names", async () => {
  const spec = {
    containers: [
      { name: "c", image: "i", volumeMounts: [{ name: "v", mountPath: "/v", subPathExpr: "$(HOSTNAME)/x" }] },
    ],
    ...volume({ projected: { sources: [{ configMap: { name: "c", items: [key("a/..b/c", { mode: 0o400 })] } }] } }),
    ...aliases("::1", "db.example.com"),
    dnsConfig: {
      nameservers: ["1.1.1.1"],
      searches: [".", "_tcp.example.com.", "svc"],
      options: [{ name: "ndots", value: "2" }],
    },
  };
  const { status } = await api.send("POST", "/api/v1/namespaces/default/pods", { metadata: { name: "good" }, spec });
  expect(status).toBe(201);
});
