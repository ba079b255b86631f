import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { formatApiKey } from "@agent-sandbox/compat";
import { Box, buildCommandLine } from "../e2e/box.ts";

/** The namespaces of two tenants, each with an account that has the role `edit`, and an account without rights in the first. */
const items = (["team-a", "team-b"] as const).flatMap((namespace) => [
  { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
  { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "user", namespace } },
  { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "guest", namespace } },
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name: "user-edits", namespace },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "edit" },
    subjects: [{ kind: "ServiceAccount", name: "user", namespace }],
  },
]);

/** A box with two tenants of the listener for foreign clients. */
export class CompatBox implements AsyncDisposable {
  readonly box: Box;
  readonly url: string;

  private constructor(box: Box, url: string) {
    this.box = box;
    this.url = url;
  }

  static async start(...flags: string[]): Promise<CompatBox> {
    buildCommandLine();
    await using starting = new AsyncDisposableStack();
    const box = starting.use(await Box.make());
    const { code, stderr } = await box.up(...flags);
    if (code !== 0) throw new Error(`Cannot start the box: ${stderr}`);
    const made = new CompatBox(box, addressOf(box));
    await made.apply(...items);
    starting.move();
    return made;
  }

  async apply(...objects: readonly object[]): Promise<void> {
    const list = JSON.stringify({ apiVersion: "v1", kind: "List", items: objects });
    const { code, stderr } = await this.box.runWith(list, "apply", "-f", "-");
    if (code !== 0) throw new Error(`Cannot apply the objects: ${stderr}`);
  }

  /** The key of an account. */
  key(namespace = "team-a", account = "user"): string {
    return formatApiKey({ token: this.token(namespace, account) });
  }

  token(namespace = "team-a", account = "user"): string {
    const env = { ...process.env, KUBECONFIG: this.box.kubeconfig };
    return execFileSync("kubectl", ["create", "token", account, "-n", namespace], { env, encoding: "utf8" }).trim();
  }

  /** What a program needs instead of its usual address and key. */
  environment(key = this.key()): Readonly<Record<string, string>> {
    return {
      E2B_API_URL: `${this.url}/e2b`,
      E2B_SANDBOX_URL: this.url,
      E2B_API_KEY: key,
      OPEN_SANDBOX_DOMAIN: new URL(this.url).host,
      OPEN_SANDBOX_API_KEY: key,
    };
  }

  kubectl(...words: string[]): string {
    const env = { ...process.env, KUBECONFIG: this.box.kubeconfig };
    return execFileSync("kubectl", words, { env, encoding: "utf8" });
  }

  /** The names of the claims of a namespace. */
  claims(namespace = "team-a"): string[] {
    return this.kubectl("get", "sandboxclaims", "-n", namespace, "-o", "name").trim().split("\n").filter(Boolean);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.box[Symbol.asyncDispose]();
  }
}

/** The address changes when a box whose port is not fixed starts again. */
export function addressOf(box: Box): string {
  const record = JSON.parse(readFileSync(join(box.dataDir, "box.json"), "utf8")) as { readonly compatUrl: string };
  return record.compatUrl;
}
