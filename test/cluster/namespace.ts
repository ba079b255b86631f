import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Outcome } from "../kube-apiserver/kubectl.ts";
import { type Access, kubectl, tryKubectl } from "./kubectl.ts";

/** An object in YAML's JSON form. */
export type Manifest = { readonly kind: string; readonly metadata: { readonly name: string } } & Record<
  string,
  unknown
>;

/** A namespace of its own for a test file, which is deleted with all it contains. */
export class Namespace implements AsyncDisposable {
  readonly name: string;
  readonly #access: Access;

  private constructor(access: Access, name: string) {
    this.#access = access;
    this.name = name;
  }

  static async create(
    access: Access,
    prefix: string,
    labels: Readonly<Record<string, string>> = {},
  ): Promise<Namespace> {
    const name = `${prefix}-${randomBytes(3).toString("hex")}`;
    const object = { apiVersion: "v1", kind: "Namespace", metadata: { name, labels } };
    await kubectl(access, ["create", "-f", "-"], JSON.stringify(object));
    return new Namespace(access, name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await kubectl(this.#access, ["delete", "namespace", this.name, "--wait=false"]);
  }

  kubectl(...words: string[]): Promise<string> {
    return kubectl(this.#access, ["-n", this.name, ...words]);
  }

  try(...words: string[]): Promise<Outcome> {
    return tryKubectl(this.#access, ["-n", this.name, ...words]);
  }

  apply(...items: readonly Manifest[]): Promise<string> {
    const list = { apiVersion: "v1", kind: "List", items };
    return kubectl(this.#access, ["-n", this.name, "apply", "-f", "-"], JSON.stringify(list));
  }

  /** Waits for a condition such as `condition=Ready` or `delete`. */
  async wait(object: string, condition: string): Promise<void> {
    await this.kubectl("wait", object, `--for=${condition}`, "--timeout=100s");
  }

  exec(pod: string, script: string): Promise<string> {
    return this.kubectl("exec", pod, "--", "sh", "-c", script);
  }

  async json<T = Record<string, unknown>>(object: string): Promise<T> {
    return JSON.parse(await this.kubectl("get", object, "-o", "json")) as T;
  }

  /** A value of an object, as kubectl's JSONPath prints it. */
  field(object: string, path: string): Promise<string> {
    return this.kubectl("get", object, "-o", `jsonpath=${path}`);
  }

  /** Repeats an observation until it has the wanted outcome, for at most 100 s. */
  async until<T>(observe: () => Promise<T>, isWanted: (seen: T) => boolean): Promise<T> {
    const deadline = Date.now() + 100_000;
    for (;;) {
      const seen = await observe();
      if (isWanted(seen)) return seen;
      if (Date.now() > deadline) throw new Error(`Not observed within 100 s; last: ${JSON.stringify(seen)}`);
      await sleep(200);
    }
  }
}
