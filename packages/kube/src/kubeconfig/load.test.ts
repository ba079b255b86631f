import { mkdtempSync, writeFileSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadInCluster } from "./in-cluster.ts";
import { type KubeconfigOptions, loadDefault, loadKubeconfig } from "./load.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "kubeconfig-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

let files = 0;
function file(text: string, name = `config-${(files += 1)}`): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const pem = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
const base64 = Buffer.from(pem).toString("base64");

const minimal = `
apiVersion: v1
kind: Config
current-context: main
contexts: [{ name: main, context: { cluster: c, user: u, namespace: team } }]
clusters: [{ name: c, cluster: { server: "https://10.0.0.1:6443", certificate-authority-data: ${base64} } }]
users: [{ name: u, user: { token: 0123 } }]
`;

async function load(text: string, options: KubeconfigOptions = {}): Promise<object> {
  const { access, error } = await loadKubeconfig({ path: file(text), ...options });
  return error === undefined ? { ...access, credentials: await access.credentials.get() } : { error };
}

describe("loadKubeconfig()", () => {
  test("reads a file and keeps a token that looks like a number as text", async () => {
    expect(await load(minimal)).toEqual({
      server: "https://10.0.0.1:6443",
      namespace: "team",
      tls: { ca: pem },
      credentials: { authorization: "Bearer 0123" },
      headers: {},
      compression: true,
    });
  });

  test("reads JSON, relative paths, flags in any spelling, passwords and impersonation", async () => {
    file(pem, "ca.pem");
    const config = {
      "current-context": "x",
      contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
      clusters: [
        {
          name: "c",
          cluster: { server: "https://localhost:1", "certificate-authority": "ca.pem", "tls-server-name": "kube" },
        },
      ],
      users: [
        {
          name: "u",
          user: {
            username: "a",
            password: "b",
            as: "boss",
            "as-groups": ["g", "h"],
            "as-user-extra": { "a/b": ["c"] },
          },
        },
      ],
    };
    expect(await load(JSON.stringify(config))).toEqual({
      server: "https://localhost:1",
      namespace: "default",
      tls: { ca: pem, serverName: "kube" },
      credentials: { authorization: `Basic ${Buffer.from("a:b").toString("base64")}` },
      headers: { "impersonate-user": "boss", "impersonate-group": ["g", "h"], "impersonate-extra-a%2Fb": ["c"] },
      compression: false,
    });
    expect(
      await load(
        minimal.replace(/certificate-authority-data: \S+/, "insecure-skip-tls-verify: Yes, disable-compression: on"),
      ),
    ).toMatchObject({ tls: { insecure: true }, compression: false });
  });

  test("merges several files: the first that sets a value or defines an entry wins", async () => {
    const first = file(`
current-context: main
clusters: [{ name: c, cluster: { server: "https://first" } }]
users: [{ name: u, user: {} }]`);
    const missing = join(folder, "missing");
    const second = file(minimal);
    const { access } = await loadKubeconfig({ env: { KUBECONFIG: `${first}:${missing}::${second}` } });
    expect(access).toMatchObject({ server: "https://first", tls: {}, namespace: "team" });
    expect(await access?.credentials.get()).toEqual({});
  });

  test.for<[string, string, RegExp]>([
    ["broken YAML", "a: [1", /Cannot parse kubeconfig ".*config-\d+": .*line 1/],
    ["a list as file", "[]", /its content is a list, it must be a mapping/],
    ["another kind of file", "kind: Pod", /kind is "Pod", a kubeconfig is a Config/],
    ["no context", "clusters: []", /no current-context is set, and none is defined/],
    [
      "an unknown context",
      minimal.replace("current-context: main", "current-context: other"),
      /there is no context "other", there are "main"/,
    ],
    [
      "an unknown cluster",
      minimal.replace("cluster: c,", "cluster: z,"),
      /contexts\[0\].context.cluster is "z", which is not defined, there are "c"/,
    ],
    [
      "an unknown user",
      minimal.replace("user: u,", "user: z,"),
      /contexts\[0\].context.user is "z", which is not defined, there are "u"/,
    ],
    ["an entry without a name", minimal.replace("{ name: c,", "{"), /clusters\[0\].name is missing/],
    [
      "an entry without content",
      minimal.replace(/cluster: \{ server[^}]*\}/, "x: y"),
      /clusters\[0\].cluster is missing \(of "c"\)/,
    ],
    [
      "an invalid server address",
      minimal.replace("https://10.0.0.1:6443", "10.0.0.1"),
      /clusters\[0\].cluster.server is "10.0.0.1", it must be an address/,
    ],
    ["no server", minimal.replace("server:", "sever:"), /clusters\[0\].cluster.server is missing/],
    [
      "a list as server",
      minimal.replace('"https://10.0.0.1:6443"', "[a]"),
      /clusters\[0\].cluster.server is a list, it must be text/,
    ],
    [
      "a mapping in place of a list",
      minimal.replace(/users: .*/, "users: {}"),
      /users is a mapping, it must be a list/,
    ],
    ["bad base64", minimal.replace(base64, "'?'"), /certificate-authority-data is not valid base64/],
    [
      "base64 of something else",
      minimal.replace(base64, "aGVsbG8="),
      /certificate-authority-data does not contain a PEM block/,
    ],
    [
      "a missing CA file",
      minimal.replace(/certificate-authority-data: \S+/, "certificate-authority: no.pem"),
      /certificate-authority cannot be read: ENOENT.*no\.pem/,
    ],
    [
      "an invalid flag",
      minimal.replace(/certificate-authority-data: \S+/, "insecure-skip-tls-verify: maybe"),
      /insecure-skip-tls-verify is "maybe", it must be true or false/,
    ],
    [
      "a CA together with insecure-skip-tls-verify",
      minimal.replace("certificate-authority-data", "insecure-skip-tls-verify: true, certificate-authority-data"),
      /remove one of them/,
    ],
    [
      "a proxy",
      minimal.replace("certificate-authority-data", "proxy-url: 'socks5://x', certificate-authority-data"),
      /proxy-url is not supported/,
    ],
    [
      "an auth provider",
      minimal.replace("token: 0123", "auth-provider: { name: gcp }"),
      /auth-provider is no longer supported/,
    ],
    [
      "half a client certificate",
      minimal.replace("token: 0123", `client-certificate-data: ${base64}`),
      /client-key is missing/,
    ],
    ["groups without a user", minimal.replace("token: 0123", "as-groups: [a]"), /users\[0\].user.as is missing/],
    [
      "an old plugin API",
      minimal.replace("token: 0123", "exec: { apiVersion: client.authentication.k8s.io/v1alpha1, command: x }"),
      /exec.apiVersion is "client.authentication.k8s.io\/v1alpha1"/,
    ],
    [
      "a plugin without a command",
      minimal.replace("token: 0123", "exec: { apiVersion: client.authentication.k8s.io/v1 }"),
      /exec.command is missing/,
    ],
    [
      "an interactive plugin",
      minimal.replace(
        "token: 0123",
        "exec: { apiVersion: client.authentication.k8s.io/v1, command: x, interactiveMode: Always }",
      ),
      /cannot prompt/,
    ],
    [
      "an alias bomb",
      `a: &a [x, x]\n${"bcdefghijk"
        .split("")
        .map((n, i) => `${n}: &${n} [${`*${"abcdefghijk"[i]},`.repeat(9)}]`)
        .join("\n")}`,
      /Excessive alias count/,
    ],
  ])("rejects %s with one sentence", async ([, text, message]) => {
    const { error } = (await load(text)) as { error: string };
    expect(error).toMatch(message);
    expect(error).not.toContain("\n");
  });

  test("reports which files it looked for", async () => {
    const { error } = await loadKubeconfig({ env: { HOME: join(folder, "nobody") } });
    expect(error).toBe(`Cannot find a kubeconfig: there is no "${folder}/nobody/.kube/config"`);
    expect((await loadKubeconfig({ path: folder })).error).toMatch(/Cannot read kubeconfig ".*": EISDIR/);
  });
});

async function account(content: Record<string, string>): Promise<string> {
  const path = join(folder, `account-${(files += 1)}`);
  await mkdir(path);
  for (const [name, text] of Object.entries(content)) writeFileSync(join(path, name), text);
  return path;
}

describe("in a cluster", () => {
  const env = { KUBERNETES_SERVICE_HOST: "fd00::1", KUBERNETES_SERVICE_PORT: "443", HOME: "/nonexistent" };

  test("loads access from the files of the service account", async () => {
    const accountFolder = await account({ token: "abc\n", "ca.crt": pem, namespace: "own" });
    const { access } = await loadDefault({ env, accountFolder });
    expect(access).toMatchObject({ server: "https://[fd00::1]:443", namespace: "own", tls: { ca: pem } });
    expect(await access?.credentials.get()).toEqual({ authorization: "Bearer abc" });
  });

  test("prefers a kubeconfig to the service account", async () => {
    const { access } = await loadDefault({ env: { ...env, KUBECONFIG: file(minimal) } });
    expect(access?.server).toBe("https://10.0.0.1:6443");
  });

  test.for<[string, Record<string, string>, RegExp]>([
    ["a missing token", { "ca.crt": pem }, /Cannot read the token file ".*\/token": ENOENT/],
    ["an empty token", { token: "\n", "ca.crt": pem }, /it is empty/],
    ["a token of several lines", { token: "a\nb", "ca.crt": pem }, /does not contain a bearer token/],
    ["a missing CA", { token: "abc" }, /Cannot read ".*\/ca.crt": ENOENT/],
  ])("reports %s in one sentence", async ([, content, message]) => {
    expect((await loadInCluster({ env, accountFolder: await account(content) })).error).toMatch(message);
  });

  test("reports that the process does not run in a Pod", async () => {
    expect((await loadInCluster({ env: {} })).error).toMatch(/this process does not run in a Pod/);
  });
});
