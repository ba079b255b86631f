import type { Pod } from "@agent-sandbox/api";
import { describe, expect, test } from "vitest";
import { kubeletBackoff } from "./backoff.ts";
import { allowedRuntimesAnnotation, rulesIn } from "./namespace-rules.ts";
import type { NodeRules } from "./observed.ts";
import type { ContainerRecord } from "./record.ts";
import { unsupportedField } from "./supported.ts";

const rules: NodeRules = {
  runtimes: ["gvisor", "runc", "crun"],
  allowedRuntimes: ["gvisor"],
  defaultRuntime: "gvisor",
  ownUsers: ["gvisor"],
  ownKernels: ["gvisor"],
  canSave: ["gvisor"],
  allow: { privileged: false, hostPaths: [], hostUsers: false },
  backoff: kubeletBackoff,
};

const namespace = (text?: string): { metadata: object } => ({
  metadata: { name: "n", ...(text !== undefined && { annotations: { [allowedRuntimesAnnotation]: text } }) },
});

const allowedBy = (text?: string): [readonly string[], string] => {
  const { allowedRuntimes, defaultRuntime } = rulesIn(rules, namespace(text));
  return [allowedRuntimes, defaultRuntime];
};

describe("the runtimes that a Namespace allows", () => {
  test.for<[string, string | undefined, readonly string[], string]>([
    ["the box's list without an annotation", undefined, ["gvisor"], "gvisor"],
    ["the annotation replaces the box's list", "runc", ["runc"], "runc"],
    ["several, with the box's default", " runc , gvisor", ["gvisor", "runc"], "gvisor"],
    ["several without the box's default: the preferred one becomes the default", "crun,runc", ["runc", "crun"], "runc"],
    ["an empty annotation allows none", "", [], "gvisor"],
    ["unknown names allow none", "kata,../runc,RUNC,*", [], "gvisor"],
    ["names beyond the limit of the list are ignored", `${"x,".repeat(100_000)}runc`, [], "gvisor"],
  ])("%s", ([, text, allowed, expected]) => {
    expect(allowedBy(text)).toEqual([allowed, expected]);
  });

  test("the box's list when the Namespace does not exist", () => {
    expect(rulesIn(rules, undefined)).toBe(rules);
  });
});

const podOf = (runtimeClassName?: string, annotations: Record<string, string> = {}): Pod => ({
  metadata: { name: "p", namespace: "n", uid: "5f1c2d3e-0000-4000-8000-000000000001", annotations },
  spec: { containers: [{ name: "main", image: "host" }], ...(runtimeClassName && { runtimeClassName }) },
});

const ran = (runtime: string): { containers: Record<string, ContainerRecord> } => ({
  containers: {
    main: { attempt: 0, runtime, ended: { id: "", exitCode: 1, reason: "Error", startedAt: 0, finishedAt: 1 } },
  },
});

describe("a Pod with a runtime that is not allowed", () => {
  test("is refused with the allowed runtimes and how to change them", () => {
    expect(unsupportedField(podOf("runc"), rules)?.message).toBe(
      'Cannot run Pod "n/p": spec.runtimeClassName: runtime "runc" is not allowed in namespace "n"; allowed: gvisor. ' +
        "The operator of the box can allow it with the annotation agents.x-k8s.io/allowed-runtimes of the Namespace, " +
        "or for all with node.allowedRuntimes in config.json",
    );
  });

  test("cannot allow it by an annotation of its own", () => {
    const own = podOf("runc", { [allowedRuntimesAnnotation]: "runc" });
    expect(unsupportedField(own, rules)?.message).toContain('"runc" is not allowed in namespace "n"');
  });

  test("is refused where none is allowed, even if it names none", () => {
    expect(unsupportedField(podOf(), rulesIn(rules, namespace("kata")))?.message).toContain(
      'runtime "gvisor" is not allowed in namespace "n"; allowed: none of this machine',
    );
  });

  test("keeps the runtime that it has already run with", () => {
    expect(unsupportedField(podOf("runc"), rules, ran("runc"))).toBeUndefined();
    expect(unsupportedField(podOf("runc"), rules, ran("crun"))?.message).toContain('"runc" is not allowed');
  });

  test("does not keep a runtime that it has not run with", () => {
    const failed = { attempt: 0, runtime: "runc", failure: { reason: "ErrImagePull", message: "", at: 0, tries: 1 } };
    expect(unsupportedField(podOf("runc"), rules, { containers: { main: failed } })?.message).toContain(
      '"runc" is not allowed',
    );
  });
});
