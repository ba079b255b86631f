import { inject } from "vitest";
import type { Manifest } from "./namespace.ts";

type Spec = Readonly<Record<string, unknown>>;

/** A container that runs a shell script, or sleeps. It ends at once when it is told to. */
export function container(script = "sleep 1000000", more: Spec = {}): object {
  const command = ["sh", "-c", `trap 'exit 0' TERM; { ${script}; } & wait`];
  return { name: "main", image: inject("cluster").image, imagePullPolicy: "IfNotPresent", command, ...more };
}

export function podTemplate(script?: string, more: Spec = {}, pod: Spec = {}): object {
  return { spec: { terminationGracePeriodSeconds: 5, containers: [container(script, more)], ...pod } };
}

export function sandbox(name: string, spec: Spec = {}): Manifest {
  return {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: { name },
    spec: { podTemplate: podTemplate(), ...spec },
  };
}

const extension = (kind: string, name: string, spec: Spec): Manifest => ({
  apiVersion: "extensions.agents.x-k8s.io/v1beta1",
  kind,
  metadata: { name },
  spec,
});

export const template = (name: string, spec: Spec = {}): Manifest =>
  extension("SandboxTemplate", name, { podTemplate: podTemplate(), ...spec });

export const pool = (name: string, spec: Spec = {}): Manifest =>
  extension("SandboxWarmPool", name, { replicas: 1, sandboxTemplateRef: { name }, ...spec });

export const claim = (name: string, poolName: string, spec: Spec = {}): Manifest =>
  extension("SandboxClaim", name, { warmPoolRef: { name: poolName }, ...spec });
