import { sandboxes, sandboxTemplates } from "@agent-sandbox/api";
import type { KubeObject } from "@agent-sandbox/kube";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { memberNamed, templateOf } from "../extensions.test.support.ts";
import { World } from "../world.test.support.ts";
import { startTemplateController } from "./controller.ts";
import { networkPolicies } from "./network-policies.ts";

const place = { namespace: "default", name: "test-template" };
const policyPlace = { namespace: "default", name: "test-template-network-policy" };
const { uid: _u, resourceVersion: _r, ...metadata } = templateOf().metadata;
const wanted = { ...templateOf(), metadata };

describe("the SandboxTemplate controller", () => {
  let world: World;
  beforeEach(() => {
    world = new World();
    world.start(startTemplateController(world.context));
  });
  afterEach(async () => await world[Symbol.asyncDispose]());

  const settled = () => world.clock.advance(10_000);
  const setSpec = (spec: object) => world.user.patch(sandboxTemplates, place, { type: "merge", body: { spec } });

  test("writes a label and a policy for a new template, and nothing after that (TEMPLATE-1)", async () => {
    await world.user.create(sandboxTemplates, wanted);
    await settled();
    const expected = { "create sandboxtemplates": 1, "patch sandboxtemplates": 1, "create networkpolicies": 1 };
    expect(world.writes()).toEqual(expected);
    await world.clock.advance(11 * 3_600_000);
    expect(world.writes()).toEqual(expected);
  });

  test("follows the template from its own rules to Unmanaged and back (TEMPLATE-2, TEMPLATE-4)", async () => {
    await world.user.create(sandboxTemplates, wanted);
    await settled();
    await setSpec({ networkPolicy: { egress: [{}] } });
    await settled();
    expect(world.server.read(networkPolicies, policyPlace)?.spec).toMatchObject({ ingress: [], egress: [{}] });
    await setSpec({ networkPolicyManagement: "Unmanaged" });
    await settled();
    expect(world.server.read(networkPolicies, policyPlace)).toBeUndefined();
    await setSpec({ networkPolicyManagement: "Managed" });
    await settled();
    expect(world.server.read(networkPolicies, policyPlace)?.spec?.egress).toEqual([{}]);
  });

  test("restores a policy that was changed or deleted (TEMPLATE-3)", async () => {
    await world.user.create(sandboxTemplates, wanted);
    await settled();
    await world.user.patch(networkPolicies, policyPlace, { type: "merge", body: { spec: { egress: [{}] } } });
    await settled();
    expect(world.server.read(networkPolicies, policyPlace)?.spec?.egress).not.toEqual([{}]);
    await world.user.delete(networkPolicies, policyPlace);
    await settled();
    expect(world.server.read(networkPolicies, policyPlace)).toBeDefined();
  });

  test("sends UID and version of the object with each write (ABUSE-12)", async () => {
    const held: unknown[] = [];
    world.server.onRequest = ({ verb, resource, body }) => {
      const { metadata, preconditions } = (body ?? {}) as { metadata?: object; preconditions?: object };
      if (verb === "patch") held.push([resource.plural, metadata]);
      if (verb === "delete") held.push([resource.plural, preconditions]);
      return undefined;
    };
    const versionOf = ({ metadata: { uid, resourceVersion } = {} }: KubeObject): object => ({ uid, resourceVersion });
    const template = await world.user.create(sandboxTemplates, wanted);
    await settled();
    const first = world.server.read(networkPolicies, policyPlace) ?? {};
    await setSpec({ networkPolicy: {} });
    await settled();
    const second = world.server.read(networkPolicies, policyPlace) ?? {};
    await setSpec({ networkPolicyManagement: "Unmanaged" });
    await settled();
    expect(held).toMatchObject([
      ["sandboxtemplates", versionOf(template)],
      ["networkpolicies", versionOf(first)],
      ["networkpolicies", versionOf(second)],
    ]);
  });

  test("keeps the policy of a deleted template while its Sandboxes exist (TEMPLATE-7)", async () => {
    await world.user.create(sandboxTemplates, wanted);
    const member = memberNamed("a");
    await world.user.create(sandboxes, {
      ...member,
      metadata: { ...member.metadata, ownerReferences: [], uid: "", resourceVersion: "" },
    });
    await settled();
    const { spec } = world.server.read(networkPolicies, policyPlace) ?? {};
    await world.user.delete(sandboxTemplates, place);
    await settled();
    expect(world.server.read(networkPolicies, policyPlace)?.spec).toEqual(spec);
    await world.user.delete(sandboxes, { namespace: "default", name: "a" });
    await settled();
    expect(world.server.read(networkPolicies, policyPlace)).toBeUndefined();
  });

  test("creates the policy again when it was deleted together with the template (TEMPLATE-7)", async () => {
    await world.user.create(sandboxTemplates, wanted);
    const member = memberNamed("a");
    await world.user.create(sandboxes, {
      ...member,
      metadata: { ...member.metadata, ownerReferences: [], uid: "", resourceVersion: "" },
    });
    await settled();
    const { spec } = world.server.read(networkPolicies, policyPlace) ?? {};
    world.server.watchDelayMs = ({ plural }) => (plural === "sandboxtemplates" ? 2_000 : 0);
    await world.user.delete(sandboxTemplates, place);
    await world.user.delete(networkPolicies, policyPlace).catch(() => undefined);
    await world.clock.advance(60_000);
    expect(spec).toBeDefined();
    expect(world.server.read(networkPolicies, policyPlace)?.spec).toEqual(spec);
  });

  test("leaves a policy it does not own alone, and creates its own when that is gone (TEMPLATE-5)", async () => {
    await world.user.create(networkPolicies, { metadata: policyPlace, spec: { podSelector: {} } });
    await world.user.create(sandboxTemplates, wanted);
    await world.clock.advance(3_600_000);
    expect(world.server.read(networkPolicies, policyPlace)?.spec).toEqual({ podSelector: {} });
    await world.user.delete(networkPolicies, policyPlace);
    await settled();
    expect(world.server.read(networkPolicies, policyPlace)?.metadata?.ownerReferences?.[0]?.kind).toBe(
      "SandboxTemplate",
    );
  });

  test("records each reconcile as a span of the template's trace, with its error (OBSERVE-10, OBSERVE-12)", async () => {
    const exporter = new InMemorySpanExporter();
    const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
    const tracing = { tracer: provider.getTracer("test"), propagator: new W3CTraceContextPropagator() };
    await world.endProcess();
    world.start(startTemplateController({ ...world.context, tracing }));
    const context = JSON.stringify({ traceparent: `00-${"a".repeat(32)}-${"b".repeat(16)}-01` });
    const annotations = { "opentelemetry.io/trace-context": context };
    await world.user.create(networkPolicies, { metadata: policyPlace, spec: { podSelector: {} } });
    await world.user.create(sandboxTemplates, { ...wanted, metadata: { ...metadata, annotations } });
    await settled();
    const span = exporter.getFinishedSpans().find(({ name }) => name === "ReconcileSandboxTemplate");
    expect(span?.spanContext().traceId).toBe("a".repeat(32));
    expect(span?.parentSpanContext?.spanId).toBe("b".repeat(16));
    expect(span?.status.message).toContain("Cannot manage");
  });
});
