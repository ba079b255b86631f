import type { NetworkPolicy, Sandbox, SandboxClaim, SandboxTemplate, SandboxWarmPool } from "@agent-sandbox/api";
import { type IndexFunction, type Informer, type KubeObject, objectKey } from "@agent-sandbox/kube";
import { claimOf, epoch, poolOf, templateOf } from "../extensions.test.support.ts";
import { defaultLabelDomains } from "./additional-metadata.ts";
import { Candidates } from "./candidates.ts";
import { type Action, type Decision, decide } from "./decide.ts";
import { type ClaimCaches, indexOwned, observe } from "./observe.ts";
import type { Observed } from "./observed.ts";

/** A cache that holds just these objects. */
function cacheOf<T extends KubeObject>(objects: readonly T[]): Informer<T> {
  const index = (_name: string, valuesOf: IndexFunction<T>) => {
    const get = (value: string): readonly T[] => objects.filter((object) => valuesOf(object).includes(value));
    return { get, count: (value: string) => get(value).length };
  };
  const get = (key: string): T | undefined => objects.find((object) => objectKey(object) === key);
  return { get, index, list: () => [...objects] } as unknown as Informer<T>;
}

export interface Scene {
  readonly claim?: SandboxClaim;
  readonly sandboxes?: readonly Sandbox[];
  readonly pools?: readonly SandboxWarmPool[];
  readonly templates?: readonly SandboxTemplate[];
  readonly policies?: readonly NetworkPolicy[];
  readonly labelDomains?: readonly string[];
  readonly now?: number;
}

/** Everything a claim can see, from plain lists. Passing `candidates` on lets several claims compete. */
export function cachesOf(scene: Scene, candidates: Candidates = new Candidates(() => undefined)): ClaimCaches {
  const { sandboxes = [], pools = [poolOf()], templates = [templateOf()], policies = [] } = scene;
  const deltas = sandboxes.map((sandbox) => ({ key: objectKey(sandbox), old: undefined, new: sandbox }));
  candidates.follow({ deltas, initial: true, wentBack: false });
  const cache = cacheOf(sandboxes);
  return {
    sandboxes: cache,
    ownedSandboxes: indexOwned(cache),
    pools: cacheOf(pools),
    templates: cacheOf(templates),
    policies: cacheOf(policies),
    candidates,
    labelDomains: scene.labelDomains ?? defaultLabelDomains,
    patienceMs: 2_000,
  };
}

export function look(scene: Scene = {}): Observed {
  const { claim = claimOf(), now = epoch } = scene;
  return observe(claim, cachesOf(scene), { now, waitedMs: now - epoch });
}

export function judge(scene: Scene = {}): Decision {
  return decide(look(scene), scene.now ?? epoch);
}

/** The actions in short, such as `adopt a`. */
export function deeds({ actions }: Decision): string[] {
  return actions.map((action) => `${action.do} ${targetOf(action)}`.trim());
}

function targetOf(action: Action): string {
  switch (action.do) {
    case "adopt":
      return action.member.metadata.name ?? "";
    case "create":
    case "change-sandbox":
    case "delete-sandbox":
      return action.sandbox.metadata.name ?? "";
    default:
      return "";
  }
}

export function readyOf({ status }: Decision): { status: string; reason: string; message: string } | undefined {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  return ready && { status: ready.status, reason: ready.reason, message: ready.message };
}
