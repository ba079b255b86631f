import { type Outcome, runKubectl } from "../kube-apiserver/kubectl.ts";
import type { ProvidedCluster } from "./settings.ts";

export type Access = Pick<ProvidedCluster, "kubeconfig" | "kubectl">;

/** Runs kubectl, and returns its exit code and output also if it fails. */
export function tryKubectl(access: Access, words: readonly string[], stdin = ""): Promise<Outcome> {
  const { kubeconfig, kubectl: binary } = access;
  return runKubectl(words, { binary, kubeconfig, home: "/nonexistent", stdin });
}

/** Runs kubectl, and throws if it fails. */
export async function kubectl(access: Access, words: readonly string[], stdin = ""): Promise<string> {
  const { code, stdout, stderr } = await tryKubectl(access, words, stdin);
  if (code !== 0) throw new Error(`kubectl ${words.join(" ")}: ${stderr}${stdout}`);
  return stdout;
}
