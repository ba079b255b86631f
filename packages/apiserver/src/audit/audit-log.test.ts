import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { configMaps, pod, pods, TestApi } from "../testing/test-api.test.support.ts";
import type { AuditLevel } from "./audit-event.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "audit-log-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const secrets = "/api/v1/namespaces/default/secrets";
const jane = { user: "jane", groups: ["system:authenticated"] };

// oxlint-disable-next-line typescript/no-explicit-any
async function audited(level: AuditLevel, act: (api: TestApi) => Promise<unknown>): Promise<any[]> {
  const path = join(folder, "audit.log");
  const api = await TestApi.start({ audit: { path, level } });
  await act(api);
  await api.server.close();
  const lines = readFileSync(path, "utf8").trim().split("\n");
  // The first requests are the server's own, from its start.
  const events = lines.map((line) => JSON.parse(line));
  const own = events.findLastIndex(({ requestURI }) => requestURI.startsWith("/apis/rbac.authorization.k8s.io"));
  return events.slice(own + 1);
}

describe("the audit log", () => {
  test("records user, verb, object, time and result of a request", async () => {
    const [event, ...more] = await audited("Metadata", (api) => api.create(pods, pod("p")));
    expect(more).toEqual([]);
    expect(event).toEqual({
      kind: "Event",
      apiVersion: "audit.k8s.io/v1",
      level: "Metadata",
      auditID: expect.stringMatching(/^[0-9a-f-]{36}$/),
      stage: "ResponseComplete",
      requestURI: pods,
      verb: "create",
      user: { username: "system:agent-sandbox", groups: ["system:masters", "system:authenticated"] },
      sourceIPs: [],
      objectRef: { resource: "pods", namespace: "default", name: "p", apiVersion: "v1" },
      responseStatus: { metadata: {}, code: 201 },
      requestReceivedTimestamp: "2026-01-01T00:00:00.000000Z",
      stageTimestamp: "2026-01-01T00:00:00.000000Z",
      annotations: { "authorization.k8s.io/decision": "allow", "authorization.k8s.io/reason": "" },
    });
  });

  test("records refused requests and their users", async () => {
    const [event] = await audited("Metadata", (api) =>
      api.server.transportAs(jane).send({ method: "GET", path: `${secrets}/s` }),
    );
    expect(event).toMatchObject({
      verb: "get",
      user: { username: "jane" },
      objectRef: { resource: "secrets", name: "s" },
      responseStatus: { status: "Failure", reason: "Forbidden", code: 403 },
      annotations: { "authorization.k8s.io/decision": "forbid" },
    });
  });

  test("records impersonation and the binding that allowed the request", async () => {
    const headers = { "impersonate-user": "vera" };
    const [event] = await audited("Metadata", (api) => api.send("GET", "/api", undefined, headers));
    expect(event).toMatchObject({
      user: { username: "system:agent-sandbox" },
      impersonatedUser: { username: "vera" },
      annotations: { "authorization.k8s.io/reason": expect.stringContaining('ClusterRoleBinding "system:discovery"') },
    });
  });

  test("records a watch when it ends", async () => {
    const events = await audited("Metadata", async (api) => {
      await api.create(pods, pod("p"));
      const watching = await api.watch(`${pods}?watch=true`);
      await watching.next();
      watching.stop();
      await watching.ended();
    });
    expect(events.map(({ verb, responseStatus }) => `${verb} ${responseStatus.code}`)).toEqual([
      "create 201",
      "watch 200",
    ]);
  });

  test("at level Request includes bodies, but not of secret kinds and not large ones", async () => {
    const events = await audited("Request", async (api) => {
      await api.create(pods, pod("p"));
      await api.create(secrets, { metadata: { name: "s" }, stringData: { password: "hunter2" } });
      await api.create(configMaps, { metadata: { name: "c" }, data: { password: "hunter2" } });
      await api.create("/api/v1/namespaces/default/serviceaccounts", { metadata: { name: "a" } });
      await api.send("POST", "/api/v1/namespaces/default/serviceaccounts/a/token", { spec: {} });
      await api.send("POST", "/apis/authentication.k8s.io/v1/tokenreviews", { spec: { token: "hunter2" } });
      await api.create(pods, pod("huge", { annotations: { a: "x".repeat(100_000) } }));
    });
    expect(events.map(({ level, requestObject }) => `${level} ${requestObject?.metadata?.name}`)).toEqual([
      "Request p",
      "Metadata undefined",
      "Metadata undefined",
      "Request a",
      "Metadata undefined",
      "Metadata undefined",
      "Request undefined",
    ]);
    expect(events.at(-1).annotations).toMatchObject({ "audit.k8s.io/truncated": "true" });
    expect(JSON.stringify(events)).not.toContain("hunter2");
    expect(JSON.stringify(events)).not.toContain("eyJ");
  });

  test("returns the audit ID in a header of each response", async () => {
    let id: string | undefined;
    const [event] = await audited("Metadata", async (api) => {
      id = (await api.send("GET", "/version")).headers["audit-id"];
    });
    expect(event.auditID).toBe(id);
  });

  test("is off by default", async () => {
    const path = join(folder, "audit.log");
    const api = await TestApi.start({ audit: { path, level: "None" } });
    await api.create(pods, pod("p"));
    await api.server.close();
    expect(() => readFileSync(path)).toThrow("ENOENT");
  });

  test("fails the start of the server when its file cannot be written", async () => {
    await expect(TestApi.start({ audit: { path: join(folder, "no/log") } })).rejects.toThrow("ENOENT");
  });
});
