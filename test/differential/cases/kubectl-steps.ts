import type { KubectlStep, SetUpStep } from "../case.ts";
import { claim, configMap, pod, sandbox, service, template, together, warmPool } from "./manifests.ts";

export const run = (words: string, stdin?: string): KubectlStep =>
  stdin === undefined ? { kubectl: words.split(" ") } : { kubectl: words.split(" "), stdin };

export const create = (manifest: string): KubectlStep => run("create -f -", manifest);

/** The objects that a case begins with. */
export const given = (manifest: string): SetUpStep => ({ setUp: manifest });

export const patch = (type: string, target: string, body: unknown, more: string[] = []): KubectlStep => ({
  kubectl: ["patch", ...target.split(" "), `--type=${type}`, "-p", JSON.stringify(body), ...more],
});

/** One object of each of seven kinds, a to g. */
export const everything: string = together(
  configMap("a"),
  pod("b"),
  service("c"),
  sandbox("d"),
  template("e"),
  warmPool("f"),
  claim("g"),
);
