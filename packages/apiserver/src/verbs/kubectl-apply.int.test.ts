import { execFile } from "node:child_process";
import { existsSync, globSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ApiServer, createApiServer } from "../index.ts";

/** Debian's kubectl, and the newest one that was built on this machine. */
const commands = [
  "/usr/bin/kubectl",
  ...globSync(join(homedir(), ".cache/agent-sandbox/kubernetes-*/kubectl")).slice(0, 1),
].filter((path) => existsSync(path));
if (commands.length === 0) console.warn("skipped: no kubectl is installed");

interface Outcome {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

describe.each(commands)("%s", (command) => {
  let folder: string;
  let server: ApiServer;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "apiserver-apply-"));
    server = await createApiServer({ nodeName: "box" });
    (await server.listen()).writeKubeconfig(join(folder, "kubeconfig"));
  });
  afterAll(async () => {
    await server.close();
    rmSync(folder, { recursive: true });
  });

  async function kubectl(args: readonly string[], input = "", editor = "false"): Promise<Outcome> {
    const common = [`--kubeconfig=${join(folder, "kubeconfig")}`, `--cache-dir=${join(folder, "cache")}`];
    const env = { ...process.env, KUBE_EDITOR: editor };
    return new Promise((resolve) => {
      const child = execFile(command, [...common, ...args], { timeout: 60_000, env }, (error, out, err) => {
        resolve({ code: error === null ? 0 : Number(error.code ?? -1), out, err });
      });
      child.stdin?.end(input);
    });
  }

  const apply = (yaml: string, ...flags: string[]): Promise<Outcome> => kubectl(["apply", "-f", "-", ...flags], yaml);
  const read = async (what: string, path: string): Promise<string> =>
    (await kubectl(["get", what, "-o", `jsonpath=${path}`])).out;

  const configMap = (name: string, data: string): string => `
apiVersion: v1
kind: ConfigMap
metadata: {name: ${name}}
data: {${data}}
`;
  const pod = (name: string, label: string): string => `
apiVersion: v1
kind: Pod
metadata: {name: ${name}, labels: {app: ${label}}}
spec: {containers: [{name: main, image: "busybox:1", env: [{name: A, value: "1"}]}, {name: side, image: "busybox:1"}]}
`;

  test("applies changes with client-side apply", async () => {
    expect(await apply(configMap("plain", 'a: "1", b: "2"'))).toMatchObject({
      code: 0,
      out: "configmap/plain created\n",
    });
    expect((await apply(configMap("plain", 'a: "1", b: "2"'))).out).toBe("configmap/plain unchanged\n");
    expect((await apply(configMap("plain", 'a: "3"'))).out).toBe("configmap/plain configured\n");
    expect(await read("configmap/plain", "{.data}")).toBe('{"a":"3"}');
    expect((await apply(pod("plain", "one"))).out).toBe("pod/plain created\n");
    expect(await apply(pod("plain", "two"))).toMatchObject({ code: 0, out: "pod/plain configured\n" });
    expect(await read("pod/plain", "{.metadata.labels.app} {.spec.containers[*].name}")).toBe("two main side");
  });

  test("applies changes with server-side apply and reports conflicts", async () => {
    const applied = await apply(configMap("owned", 'a: "1"'), "--server-side");
    expect(applied).toMatchObject({ code: 0, out: "configmap/owned serverside-applied\n" });
    const before = await read("configmap/owned", "{.metadata.resourceVersion}");
    expect((await apply(configMap("owned", 'a: "1"'), "--server-side")).code).toBe(0);
    expect(await read("configmap/owned", "{.metadata.resourceVersion}")).toBe(before);

    const contested = await apply(configMap("owned", 'a: "2"'), "--server-side", "--field-manager=other");
    expect(contested.code).toBe(1);
    expect(contested.err).toContain('Apply failed with 1 conflict: conflict with "kubectl": .data.a');
    expect(contested.err).toContain("--force-conflicts");

    const forced = await apply(
      configMap("owned", 'a: "2"'),
      "--server-side",
      "--field-manager=other",
      "--force-conflicts",
    );
    expect(forced.code).toBe(0);
    expect(await read("configmap/owned", "{.data.a}")).toBe("2");
    const shown = await kubectl(["get", "configmap/owned", "--show-managed-fields", "-o", "json"]);
    expect(JSON.parse(shown.out).metadata.managedFields).toMatchObject([
      { manager: "other", operation: "Apply", fieldsV1: { "f:data": { "f:a": {} } } },
    ]);
    expect((await kubectl(["get", "configmap/owned", "-o", "yaml"])).out).not.toContain("managedFields");
  });

  test("switches between client-side and server-side apply", async () => {
    await apply(pod("moved", "one"));
    expect(await apply(pod("moved", "two"), "--server-side")).toMatchObject({ code: 0, err: "" });
    expect(await read("pod/moved", "{.metadata.labels.app}")).toBe("two");
    expect(await apply(pod("moved", "three"))).toMatchObject({ code: 0, out: "pod/moved configured\n" });
  });

  test("shows a diff of what an apply would change", async () => {
    await apply(configMap("compared", 'a: "1"'));
    expect((await kubectl(["diff", "-f", "-"], configMap("compared", 'a: "1"'))).code).toBe(0);
    for (const flags of [[], ["--server-side", "--force-conflicts"]]) {
      const { code, out } = await kubectl(["diff", "-f", "-", ...flags], configMap("compared", 'a: "2"'));
      expect(code).toBe(1);
      expect(out).toMatch(/^- {2}a: "1"\n\+ {2}a: "2"$/m);
    }
    expect(await read("configmap/compared", "{.data.a}")).toBe("1");
  });

  test("edits an object", async () => {
    await apply(configMap("edited", "word: before"));
    const editor = join(folder, "editor.sh");
    writeFileSync(editor, '#!/bin/sh\nexec sed -i s/before/after/ "$1"\n', { mode: 0o700 });
    const { code, out } = await kubectl(["edit", "configmap/edited"], "", editor);
    expect({ code, out }).toEqual({ code: 0, out: "configmap/edited edited\n" });
    expect(await read("configmap/edited", "{.data.word}")).toBe("after");
  });

  test("sets an image, a label and an annotation", async () => {
    await apply(pod("changed", "one"));
    expect((await kubectl(["set", "image", "pod/changed", "side=busybox:2"])).out).toBe("pod/changed image updated\n");
    expect(await read("pod/changed", "{.spec.containers[*].image}")).toBe("busybox:1 busybox:2");
    expect((await kubectl(["label", "pod/changed", "more=yes"])).out).toBe("pod/changed labeled\n");
    const patch = '{"metadata":{"annotations":{"note":"x"}}}';
    expect((await kubectl(["patch", "pod/changed", "-p", patch])).out).toBe("pod/changed patched\n");
    expect(await read("pod/changed", "{.metadata.labels.more} {.metadata.annotations.note}")).toBe("yes x");
    const managers = await read("pod/changed", "{.metadata.managedFields[*].manager}");
    expect(managers.split(" ")).toEqual(
      expect.arrayContaining(["kubectl-client-side-apply", "kubectl-set", "kubectl-label", "kubectl-patch"]),
    );
  });
});
