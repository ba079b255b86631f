import {
  type Case,
  describeStep,
  type ExchangeStep,
  fillIn,
  isKubectl,
  isSetUp,
  type KubectlRelease,
  type KubectlStep,
  type Step,
} from "./case.ts";
import { type Difference, differences } from "./compare.ts";
import { exchange } from "./exchange.ts";
import { runKubectl } from "./kubectl.ts";
import { eachLine, normaliseJson, normaliseTable, normaliseText, type Rules } from "./normalise.ts";
import type { Server, ServerPair } from "./servers.ts";
import { setUp } from "./set-up.ts";

/** Runs a case against both servers at the same time and returns the differences. */
export async function runCase(
  pair: ServerPair,
  testCase: Case,
  release: KubectlRelease = "same",
): Promise<Difference[]> {
  const binary = pair.kubectl[release];
  const [theirs, ours] = await Promise.all(
    [pair.theirs, pair.ours].map((server) => new CaseRun(server, testCase, { binary, release }).run()),
  );
  return differences(theirs, ours, "").map(({ path, ...rest }) => ({ path: path.slice(1), ...rest }));
}

class CaseRun {
  readonly #server: Server;
  readonly #case: Case;
  readonly #binary: string;
  readonly #known: Map<string, string>;
  readonly #rules: Rules;

  constructor(server: Server, testCase: Case, { binary, release }: { binary: string; release: KubectlRelease }) {
    this.#server = server;
    this.#case = testCase;
    this.#binary = binary;
    this.#known = new Map([["ns", namespaceFor(testCase.name, release)]]);
    this.#rules = { url: server.url, managedFields: testCase.managedFields ?? false };
  }

  async run(): Promise<unknown[]> {
    await this.#makeNamespace();
    return this.#steps(this.#case.steps);
  }

  async #steps(steps: readonly Step[]): Promise<unknown[]> {
    const answers: unknown[] = [];
    for (const raw of steps) {
      const step = fillIn(raw, this.#known);
      try {
        answers.push(await this.#step(step));
      } catch (cause) {
        throw new Error(`Cannot run "${describeStep(step)}" against ${this.#server.name}`, { cause });
      }
    }
    return answers;
  }

  #step(step: Step): Promise<unknown> {
    if (isSetUp(step)) return setUp(step, this.#server, this.#known.get("ns") ?? "");
    return isKubectl(step) ? this.#kubectl(step) : this.#exchange(step);
  }

  async #kubectl(step: KubectlStep): Promise<unknown> {
    let meanwhile: unknown[] = [];
    const answer = await runKubectl(step, {
      binary: this.#binary,
      server: this.#server,
      namespace: this.#known.get("ns") ?? "",
      meanwhile: async () => {
        meanwhile = await this.#steps(step.until?.meanwhile ?? []);
      },
    });
    const { code, stderr, stdout } = answer;
    return { code, stderr: normaliseText(stderr, this.#rules), stdout: this.#printed(stdout, step), meanwhile };
  }

  #printed(stdout: string, { byLine = false }: KubectlStep): unknown {
    if (/^\s*[[{]/.test(stdout)) {
      try {
        return normaliseJson(JSON.parse(stdout), this.#rules);
      } catch {
        // Output of a go-template or jsonpath may only look like JSON.
      }
    }
    const text = normaliseTable(normaliseText(stdout, this.#rules));
    return byLine ? eachLine(text) : text;
  }

  async #exchange(step: ExchangeStep): Promise<unknown> {
    const answer = await exchange(step, this.#server);
    for (const [name, path] of Object.entries(step.save ?? {})) {
      const value = path
        .split(".")
        .reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], answer.body);
      if (typeof value === "string") this.#known.set(name, value);
    }
    return normaliseJson(answer, this.#rules);
  }

  /** Waits for the default service account, without which Pods cannot be created. */
  async #makeNamespace(): Promise<void> {
    const name = this.#known.get("ns") ?? "";
    const body = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
    const made = await exchange({ method: "POST", path: "/api/v1/namespaces", body }, this.#server);
    if (made.status !== 201)
      throw new Error(`Cannot create namespace "${name}" on ${this.#server.name}: status ${made.status}`);
    const path = `/api/v1/namespaces/${name}/serviceaccounts/default`;
    await exchange({ method: "GET", path, retryUntil: 200 }, this.#server);
  }
}

/** A unique namespace name of at most 63 characters, derived from the unique name of the case. */
function namespaceFor(name: string, release: KubectlRelease): string {
  const words = (release === "older" ? name.replace(/^kubectl/, "older") : name)
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
  if (words.length > 63) throw new Error(`Cannot run case "${name}": its name is too long for a namespace`);
  return words;
}
