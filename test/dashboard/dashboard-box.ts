import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Box, buildCommandLine } from "../e2e/box.ts";

/** An object to create. */
export interface Wanted {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly [field: string]: unknown };
  readonly [field: string]: unknown;
}

/** A box whose dashboard is visited. Its ports are free ones. */
export class DashboardBox implements AsyncDisposable {
  readonly box: Box;

  private constructor(box: Box) {
    this.box = box;
  }

  static async start(...flags: string[]): Promise<DashboardBox> {
    buildCommandLine();
    await using starting = new AsyncDisposableStack();
    const box = new DashboardBox(starting.use(await Box.make()));
    await box.up(...flags);
    starting.move();
    return box;
  }

  async up(...flags: string[]): Promise<void> {
    const { code, stderr } = await this.box.up(...flags);
    if (code !== 0) throw new Error(`Cannot start the box: ${stderr}`);
  }

  /** The link that `agent-sandbox dashboard` opens: it logs in the administrator. */
  async loginLink(): Promise<string> {
    return (await this.run("dashboard", "--print")).trim();
  }

  /** A login link for the holder of any token. */
  async loginLinkFor(token: string, namespace: string): Promise<string> {
    const response = await fetch(`${this.address}/logins`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ namespace }),
    });
    const { url = "", message } = (await response.json()) as { url?: string; message?: string };
    if (!response.ok) throw new Error(`Cannot get a login link: ${message}`);
    return url;
  }

  /** Where programs reach the dashboard. */
  get address(): string {
    return (this.#record() as { readonly dashboardUrl: string }).dashboardUrl;
  }

  get routerUrl(): string {
    return (this.#record() as { readonly routerUrl: string }).routerUrl;
  }

  #record(): object {
    return JSON.parse(readFileSync(join(this.box.dataDir, "box.json"), "utf8")) as object;
  }

  /** Runs `agent-sandbox`, and returns what it prints. */
  async run(...words: string[]): Promise<string> {
    return this.runWith("", ...words);
  }

  async runWith(stdin: string, ...words: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.box.runWith(stdin, ...words);
    if (code !== 0) throw new Error(`agent-sandbox ${words.join(" ")}: ${stderr}`);
    return stdout;
  }

  async apply(...objects: Wanted[]): Promise<void> {
    await this.runWith(JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }), "apply", "-f", "-");
  }

  /** Creates a sandbox with the machine's own programs, and waits until it is ready. */
  async createSandbox(name: string, spec: object = {}): Promise<void> {
    const containers = [{ name: "main", image: "host", command: ["sleep", "infinity"] }];
    await this.apply({
      apiVersion: "agents.x-k8s.io/v1beta1",
      kind: "Sandbox",
      metadata: { name, namespace: "default" },
      spec: { podTemplate: { spec: { containers } }, ...spec },
    });
    await this.run("wait", `sandbox/${name}`, "--for=condition=Ready", "--timeout=90s");
  }

  kubectl(...words: string[]): string {
    return this.kubectlWith("", ...words);
  }

  kubectlWith(input: string, ...words: string[]): string {
    const env = { ...process.env, KUBECONFIG: this.box.kubeconfig };
    return execFileSync("kubectl", words, { env, input, encoding: "utf8" });
  }

  /** A new account in a new namespace, with a role there, and its token. Without a role it has no rights. */
  async account(namespace: string, role?: "view" | "edit"): Promise<string> {
    const subjects = [{ kind: "ServiceAccount", name: "user", namespace }];
    await this.apply(
      { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
      { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "user", namespace } },
      ...(role === undefined
        ? []
        : [
            {
              apiVersion: "rbac.authorization.k8s.io/v1",
              kind: "RoleBinding",
              metadata: { name: "user", namespace },
              roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
              subjects,
            },
          ]),
    );
    return this.kubectl("create", "token", "user", "-n", namespace).trim();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.box[Symbol.asyncDispose]();
  }
}
