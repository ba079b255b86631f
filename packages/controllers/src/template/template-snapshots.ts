import { isConditionTrue, type SandboxSnapshot, type SandboxTemplate, sandboxSnapshots } from "@agent-sandbox/api";
import { type Informer, type Informers, keyOf, objectKey, type Scope, type Trigger } from "@agent-sandbox/kube";
import { LateInformer } from "../late-informer.ts";
import type { Blueprint } from "./blueprint.ts";

/** The SandboxSnapshots that templates name. */
export class TemplateSnapshots {
  readonly #snapshots: LateInformer<SandboxSnapshot>;

  constructor(informers: Informers, scope: Pick<Scope, "namespace">) {
    this.#snapshots = new LateInformer(informers, sandboxSnapshots, scope);
  }

  /**
   * The UID of the snapshot that Sandboxes of the template are made from now. Undefined if the template names none, or none that
   * is known to be ready: there is nothing then that could replace a Sandbox.
   */
  uidFor(blueprint: Blueprint | undefined): string | undefined {
    const name = blueprint?.spec.restoreFrom?.snapshotRef?.name;
    if (blueprint === undefined || !name) return undefined;
    const { namespace = "" } = blueprint.template.metadata;
    const snapshot = this.#snapshots.open().get(keyOf({ namespace, name }));
    const isUsable = isConditionTrue(snapshot?.status?.conditions, "Ready");
    return isUsable && snapshot?.metadata.deletionTimestamp === undefined ? snapshot?.metadata.uid : undefined;
  }

  /** Enqueues what belongs to the templates that name a snapshot when it changes. */
  trigger(templates: Informer<SandboxTemplate>, keysOf: (template: SandboxTemplate) => readonly string[]): Trigger {
    const bySnapshot = templates.index("snapshot", snapshotKeys);
    return this.#snapshots.trigger((snapshot) => bySnapshot.get(objectKey(snapshot)).flatMap(keysOf));
  }
}

/** A stored template may not satisfy today's schema. */
function snapshotKeys({ metadata, spec }: SandboxTemplate): string[] {
  const name = spec?.restoreFrom?.snapshotRef?.name;
  return typeof name === "string" && name !== "" ? [keyOf({ namespace: metadata.namespace ?? "", name })] : [];
}
