import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isConditionTrue, sandboxClaims, sandboxes, warmPoolSandboxLabel } from "@agent-sandbox/api";
import { type Client, createClient, HttpTransport, loadKubeconfig } from "@agent-sandbox/kube";
import { parse } from "yaml";
import { Box, buildCommandLine, type Outcome } from "../e2e/box.ts";
import { freePort } from "../free-port.ts";
import type { Address } from "./ask.ts";
import { manifest, poolManifest, type Wanted } from "./manifest.ts";
import { Subject } from "./subject.ts";

/** A box that keeps its addresses when it is killed and restarted. */
export class DataPlaneBox implements AsyncDisposable {
  readonly box: Box;
  readonly router: Address;
  readonly #api: number;
  #client: Client | undefined;
  #claimed: Promise<void> | undefined;

  private constructor(box: Box, api: number, router: number) {
    this.box = box;
    this.#api = api;
    this.router = { host: "127.0.0.1", port: router };
  }

  static async start(): Promise<DataPlaneBox> {
    buildCommandLine();
    const made = new DataPlaneBox(await Box.make(), await freePort(), await freePort());
    await made.up();
    return made;
  }

  async up(): Promise<void> {
    const { port } = this.router;
    const listen = ["--listen", `127.0.0.1:${this.#api}`, "--router-listen", `127.0.0.1:${port}`];
    expectSuccess(await this.box.run("up", ...listen, "--allow-runtime", "runc"));
  }

  /** Kills the box, like a power failure. */
  kill(): void {
    process.kill(this.box.pid(), "SIGKILL");
  }

  /** Creates Sandboxes and waits until they are ready. Returns them in the order of their manifests. */
  async subjects(manifests: readonly string[]): Promise<Subject[]> {
    expectSuccess(await this.box.runWith(manifests.join("\n---\n"), "apply", "-f", "-"));
    const names = manifests.map((manifest) => (parse(manifest) as { metadata: { name: string } }).metadata.name);
    await Promise.all(names.map((name) => this.ready(name)));
    return names.map((name) => new Subject(this.router, name, this.token));
  }

  async ready(name: string): Promise<void> {
    expectSuccess(await this.box.run("wait", `sandbox/${name}`, "--for=condition=Ready", "--timeout=60s"));
  }

  /** Creates a Sandbox for a single test and waits until it is ready. */
  async subject(wanted: Wanted): Promise<Subject> {
    const [made] = await this.subjects([manifest(wanted)]);
    if (made === undefined) throw new Error(`Cannot find sandbox "${wanted.name}"`);
    return made;
  }

  /** The Sandbox of the claim `mine`. */
  async claimedSandbox(): Promise<string> {
    await this.claimed();
    const client = await this.client();
    const { status } = await client.get(sandboxClaims, { namespace: "default", name: "mine" });
    return status?.sandbox?.name ?? "";
  }

  /** Waits until the claim `mine` is bound and its pool is filled again. */
  claimed(): Promise<void> {
    this.#claimed ??= this.#claim();
    return this.#claimed;
  }

  async #claim(): Promise<void> {
    expectSuccess(await this.box.runWith(poolManifest, "apply", "-f", "-"));
    expectSuccess(await this.box.run("wait", "sandboxclaim/mine", "--for=condition=Ready", "--timeout=60s"));
  }

  /** A ready Sandbox of the pool that is not claimed. */
  async poolMember(): Promise<{ readonly name: string; readonly uid: string }> {
    await this.claimed();
    const client = await this.client();
    for (;;) {
      const { items } = await client.list(sandboxes, { namespace: "default", labelSelector: warmPoolSandboxLabel });
      const found = items.find(({ status }) => isConditionTrue(status?.conditions, "Ready"));
      const { name, uid } = found?.metadata ?? {};
      if (name !== undefined && uid !== undefined) return { name, uid };
      await sleep(100);
    }
  }

  /** Creates the suspended Sandbox `resting`. */
  async resting(): Promise<void> {
    const spec = { operatingMode: "Suspended" };
    expectSuccess(await this.box.runWith(manifest({ name: "resting", runtime: "runc", spec }), "apply", "-f", "-"));
    const client = await this.client();
    while ((await client.get(sandboxes, { namespace: "default", name: "resting" })).status === undefined)
      await sleep(50);
  }

  /** The administrator's token from the kubeconfig. */
  get token(): string {
    const config = parse(readFileSync(this.box.kubeconfig, "utf8")) as { users: { user: { token: string } }[] };
    return config.users[0]?.user.token ?? "";
  }

  /** A client with the administrator's credentials. */
  async client(): Promise<Client> {
    if (this.#client !== undefined) return this.#client;
    const { access, error } = await loadKubeconfig({ path: this.box.kubeconfig });
    if (error !== undefined) throw new Error(error);
    this.#client = createClient(new HttpTransport(access), { fieldManager: "data-plane-tests" });
    return this.#client;
  }

  log(): string {
    return readFileSync(join(this.box.dataDir, "box.log"), "utf8");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client?.close();
    await this.box[Symbol.asyncDispose]();
  }
}

function expectSuccess({ code, stdout, stderr }: Outcome): void {
  if (code !== 0) throw new Error(`Cannot run the command line: exit status ${code}: ${stdout}${stderr}`);
}
