import { expect, test } from "vitest";
import { type Manifest, parseManifests } from "./manifests.ts";
import { convertShortForm } from "./short-forms.ts";

const beta = "extensions.agents.x-k8s.io/v1beta1";
const moved = `agents.x-k8s.io/v1alpha1 became ${beta}`;

const converted = (text: string): object => {
  const [manifest] = parseManifests(text, "a file");
  if (manifest === undefined) throw new Error("no manifest");
  const { manifest: whole, ...rest } = convertShortForm(manifest);
  const { apiVersion, spec } = whole as Manifest & { readonly spec?: object };
  return { apiVersion, spec, ...rest };
};

const inShort = (kind: string, spec: string, apiVersion = "agents.x-k8s.io/v1alpha1"): string =>
  `{apiVersion: ${apiVersion}, kind: ${kind}, metadata: {name: x}, spec: ${spec}}`;

test.for([
  {
    what: "a template in the wrong group",
    text: inShort("SandboxTemplate", "{podTemplate: {spec: {containers: []}}}"),
    expected: { apiVersion: beta, spec: { podTemplate: { spec: { containers: [] } } }, changes: [moved] },
  },
  {
    what: "a template with spec.template",
    text: inShort("SandboxTemplate", "{template: {metadata: {labels: {a: b}}, spec: {containers: []}}, service: true}"),
    expected: {
      apiVersion: beta,
      spec: { podTemplate: { metadata: { labels: { a: "b" } }, spec: { containers: [] } }, service: true },
      changes: [moved, "spec.template became spec.podTemplate"],
    },
  },
  {
    what: "a template with spec.template in the right group",
    text: inShort("SandboxTemplate", "{template: {spec: {containers: []}}}", beta),
    expected: {
      apiVersion: beta,
      spec: { podTemplate: { spec: { containers: [] } } },
      changes: ["spec.template became spec.podTemplate"],
    },
  },
  {
    what: "a claim that names a template",
    text: inShort("SandboxClaim", "{template: python, lifecycle: {shutdownPolicy: Delete}}"),
    expected: {
      apiVersion: beta,
      spec: { warmPoolRef: { name: "python" }, lifecycle: { shutdownPolicy: "Delete" } },
      changes: [moved, "spec.template became spec.warmPoolRef"],
      template: "python",
    },
  },
  {
    what: "a claim with v1alpha1's field in the wrong group",
    text: inShort("SandboxClaim", "{sandboxTemplateRef: {name: python}}"),
    expected: {
      apiVersion: beta,
      spec: { warmPoolRef: { name: "python" } },
      changes: [moved, "spec.sandboxTemplateRef became spec.warmPoolRef"],
      template: "python",
    },
  },
  {
    what: "a pool with size and template",
    text: inShort("SandboxWarmPool", "{size: 3, template: python}"),
    expected: {
      apiVersion: beta,
      spec: { replicas: 3, sandboxTemplateRef: { name: "python" } },
      changes: [moved, "spec.size became spec.replicas", "spec.template became spec.sandboxTemplateRef"],
    },
  },
  {
    what: "an object without a spec",
    text: "{apiVersion: agents.x-k8s.io/v1alpha1, kind: SandboxWarmPool, metadata: {name: x}}",
    expected: { apiVersion: beta, spec: undefined, changes: [moved] },
  },
])("converts $what", ({ text, expected }) => {
  expect(converted(text)).toEqual(expected);
});

test.for([
  ["a Sandbox of v1alpha1", inShort("Sandbox", "{template: {spec: {}}}")],
  ["another group", inShort("SandboxTemplate", "{template: {spec: {}}}", "example.com/v1alpha1")],
  ["the core group in v1beta1", inShort("SandboxTemplate", "{template: {spec: {}}}", "agents.x-k8s.io/v1beta1")],
  [
    "v1alpha1 of the right group",
    inShort("SandboxClaim", "{sandboxTemplateRef: {name: a}}", "extensions.agents.x-k8s.io/v1alpha1"),
  ],
  ["a size that is not a number", inShort("SandboxWarmPool", "{size: many}", beta)],
  ["a template that is a name", inShort("SandboxTemplate", "{template: python}", beta)],
  ["a claim's template that is an object", inShort("SandboxClaim", "{template: {name: a}}", beta)],
  ["a spec that is a list", inShort("SandboxClaim", "[template]", beta)],
  ["a kind named like a property of every object", inShort("constructor", "{template: a}")],
] as const)("leaves %s to the server", ([, text]) => {
  const [manifest] = parseManifests(text, "a file");
  expect(manifest && convertShortForm(manifest)).toEqual({ manifest, changes: [] });
});

test("refuses an object with the short and the full form", () => {
  const text = inShort("SandboxWarmPool", "{size: 1, replicas: 2}");
  expect(() => converted(text)).toThrow(
    'Cannot read SandboxWarmPool "x": it has spec.size and spec.replicas; keep spec.replicas',
  );
});
