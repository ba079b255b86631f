import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ApiServer, createApiServer } from "../index.ts";

const kubectlPath = "/usr/bin/kubectl";
const available = existsSync(kubectlPath);
if (!available) console.warn(`skipped: ${kubectlPath} is not installed`);

let folder: string;
let server: ApiServer;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "apiserver-openapi-"));
  server = await createApiServer({ dataDir: join(folder, "data"), nodeName: "box" });
  (await server.listen()).writeKubeconfig(join(folder, "kubeconfig"));
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

async function kubectl(args: readonly string[], input = ""): Promise<{ code: number; out: string; err: string }> {
  const common = [`--kubeconfig=${join(folder, "kubeconfig")}`, `--cache-dir=${join(folder, "cache")}`];
  return new Promise((resolve) => {
    const child = execFile(kubectlPath, [...common, ...args], { timeout: 30_000 }, (error, out, err) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), out, err });
    });
    child.stdin?.end(input);
  });
}

const sandbox = (spec = ""): string => `
apiVersion: agents.x-k8s.io/v1beta1
kind: Sandbox
metadata: {name: demo}
spec:
  podTemplate: {spec: {containers: [{name: main, image: "busybox:1"}]}}
${spec}`;

const widgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets, shortNames: [wd], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        description: Something small
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, description: How big it is}
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]
`;

describe.skipIf(!available)("kubectl", () => {
  test("explains built-in kinds and ours from both versions of the documents", async () => {
    const pod = await kubectl(["explain", "pod.spec.containers"]);
    expect(pod.out).toMatch(/^KIND: {7}Pod\nVERSION: {4}v1\n\nFIELD: containers <\[\]Container>/);
    expect(pod.out).toContain("  volumeMounts\t<[]VolumeMount>");
    const ours = await kubectl(["explain", "sandbox.spec"]);
    expect(ours.out).toContain("GROUP:      agents.x-k8s.io");
    expect(ours.out).toContain("  podTemplate\t<Object> -required-");
    const old = await kubectl(["explain", "sandbox.spec.podTemplate", "--output=plaintext-openapiv2"]);
    expect(old.out).toContain("RESOURCE: podTemplate <Object>");
    expect((await kubectl(["explain", "pod.spec.nothing"])).err).toContain('field "nothing" does not exist');
  });

  test.for([
    "sandbox",
    "sandbox.spec",
    "sandbox.status",
    "sandbox.spec.podTemplate.spec",
    "sandbox.spec.podTemplate.spec.containers",
    "sandboxclaim.spec.lifecycle",
    "sandboxtemplate.spec",
    "sandboxwarmpool.status.conditions",
    "sandboxclaims.spec --api-version=extensions.agents.x-k8s.io/v1alpha1",
    "pod.spec",
    "pod.spec.containers",
    "persistentvolumeclaim.spec",
  ])("describes every field of %s", async (what) => {
    const { out } = await kubectl(["explain", ...what.split(" ")]);
    expect(out).toMatch(/^FIELDS:$/m);
    expect(out).not.toContain("<no description>");
  });

  test("reports a misspelled field before anything is created", async () => {
    const typo = sandbox("  operatingMod: Running");
    const { code, err } = await kubectl(["create", "-f", "-"], typo);
    expect(code).toBe(1);
    expect(err).toContain('strict decoding error: unknown field "spec.operatingMod"');
    const warned = await kubectl(["create", "--validate=warn", "--dry-run=server", "-f", "-"], typo);
    expect(warned).toMatchObject({ code: 0, err: 'Warning: unknown field "spec.operatingMod"\n' });
    const wrong = await kubectl(["create", "-f", "-"], sandbox("  operatingMode: Sideways"));
    expect(wrong.err).toContain('spec.operatingMode: Unsupported value: "Sideways"');
  });

  test("applies with its default validation", async () => {
    expect((await kubectl(["apply", "-f", "-"], sandbox())).out).toBe("sandbox.agents.x-k8s.io/demo created\n");
    const changed = sandbox("  operatingMode: Suspended");
    expect((await kubectl(["apply", "-f", "-"], changed)).out).toBe("sandbox.agents.x-k8s.io/demo configured\n");
    expect((await kubectl(["apply", "-f", "-"], changed)).out).toBe("sandbox.agents.x-k8s.io/demo unchanged\n");
  });

  test("lists resources with the names of kube-apiserver", async () => {
    const { out } = await kubectl(["api-resources", "--no-headers"]);
    const rows = out
      .trim()
      .split("\n")
      .map((line) => line.trim().split(/\s+/));
    expect(rows).toContainEqual(["persistentvolumeclaims", "pvc", "v1", "true", "PersistentVolumeClaim"]);
    expect(rows).toContainEqual([
      "customresourcedefinitions",
      "crd,crds",
      "apiextensions.k8s.io/v1",
      "false",
      "CustomResourceDefinition",
    ]);
    expect(rows).toContainEqual(["networkpolicies", "netpol", "networking.k8s.io/v1", "true", "NetworkPolicy"]);
  });

  test("creates objects of built-in kinds and shows them", async () => {
    await kubectl(["create", "configmap", "settings", "--from-literal=a=b"]);
    await kubectl(["create", "service", "nodeport", "front", "--tcp=80:8080"]);
    await kubectl(["create", "rolebinding", "readers", "--clusterrole=view", "--user=jane"]);
    const fields = async (...what: string[]): Promise<string[]> =>
      (await kubectl(["get", ...what, "--no-headers"])).out.trim().split(/\s+/);
    expect((await fields("cm", "settings")).slice(0, 2)).toEqual(["settings", "1"]);
    expect(await fields("svc", "front")).toEqual([
      "front",
      "NodePort",
      expect.stringMatching(/^10\.96\./),
      "<none>",
      expect.stringMatching(/^80:3\d{4}\/TCP$/),
      expect.any(String),
    ]);
    expect((await fields("rolebinding", "readers")).slice(0, 2)).toEqual(["readers", "ClusterRole/view"]);
  });

  test("creates a CustomResourceDefinition and uses its kind immediately", async () => {
    expect((await kubectl(["apply", "-f", "-"], widgets)).out).toContain("widgets.example.com created");
    expect((await kubectl(["wait", "--for=condition=Established", "crd/widgets.example.com"])).code).toBe(0);
    expect((await kubectl(["explain", "widget.spec.size"])).out).toContain("How big it is");
    const widget = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec: {size: 3}\n";
    expect((await kubectl(["apply", "-f", "-"], widget)).out).toBe("widget.example.com/w created\n");
    expect((await kubectl(["get", "wd", "--no-headers"])).out.trim().split(/\s+/)).toEqual(["w", "3"]);
    const bad = await kubectl(
      ["create", "-f", "-"],
      widget.replace("size: 3", "sise: 3").replace("name: w", "name: v"),
    );
    expect(bad.err).toContain('unknown field "spec.sise"');
    expect((await kubectl(["delete", "crd", "widgets.example.com", "--timeout=20s"])).code).toBe(0);
    expect((await kubectl(["get", "wd"])).err).toContain("could not find the requested resource");
  });
});
