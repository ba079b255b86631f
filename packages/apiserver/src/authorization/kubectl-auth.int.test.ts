import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ApiServer, createApiServer } from "../index.ts";

const kubectlPath = "/usr/bin/kubectl";
const available = existsSync(kubectlPath);
if (!available) console.warn(`skipped: ${kubectlPath} is not installed`);

let folder: string;
let server: ApiServer;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "apiserver-kubectl-auth-"));
  server = await createApiServer();
  const listening = await server.listen();
  listening.writeKubeconfig(join(folder, "admin"));
  listening.writeKubeconfig(
    join(folder, "jane"),
    listening.issueClientCertificate({ user: "jane", groups: ["staff"] }),
  );
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

interface Outcome {
  readonly code: number;
  readonly output: string;
}

async function kubectl(who: "admin" | "jane", ...words: string[]): Promise<Outcome> {
  const env = { PATH: process.env["PATH"], HOME: folder, KUBECONFIG: join(folder, who) };
  try {
    const { stdout, stderr } = await promisify(execFile)(kubectlPath, words, { env });
    return { code: 0, output: `${stdout}${stderr}`.trim() };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, output: `${stdout}${stderr}`.trim() };
  }
}

describe.skipIf(!available)("kubectl", () => {
  test("auth whoami prints the user", async () => {
    const { output } = await kubectl("jane", "auth", "whoami");
    expect(output).toMatch(/Username\s+jane/);
    expect(output).toMatch(/Groups\s+\[staff system:authenticated\]/);
  });

  test("creates roles and bindings, and auth can-i reports what they allow", async () => {
    expect(await kubectl("jane", "auth", "can-i", "list", "pods")).toEqual({ code: 1, output: "no" });
    await kubectl("admin", "create", "role", "looker", "--verb=get,list", "--resource=pods,sandboxes.agents.x-k8s.io");
    await kubectl("admin", "create", "rolebinding", "looker", "--role=looker", "--group=staff");
    expect(await kubectl("jane", "auth", "can-i", "list", "pods")).toEqual({ code: 0, output: "yes" });
    expect(await kubectl("jane", "auth", "can-i", "get", "sandboxes.agents.x-k8s.io")).toEqual({
      code: 0,
      output: "yes",
    });
    expect((await kubectl("jane", "auth", "can-i", "get", "/api")).output).toBe("yes");
    expect(await kubectl("admin", "auth", "can-i", "delete", "pods", "--as=jane", "--as-group=staff")).toEqual({
      code: 1,
      output: "no",
    });
    expect((await kubectl("admin", "auth", "can-i", "*", "*")).output).toBe("yes");
  });

  test("auth can-i --list prints permissions", async () => {
    const { output } = await kubectl("jane", "auth", "can-i", "--list");
    expect(output).toMatch(/sandboxes\.agents\.x-k8s\.io\s+\[\]\s+\[\]\s+\[get list\]/);
    expect(output).toMatch(/selfsubjectaccessreviews\.authorization\.k8s\.io\s+\[\]\s+\[\]\s+\[create\]/);
    expect(output).toMatch(/\[\/api\/\*\]\s+\[\]\s+\[get\]/);
  });

  test("prints the error for a forbidden request", async () => {
    expect(await kubectl("jane", "get", "secrets")).toEqual({
      code: 1,
      output:
        'Error from server (Forbidden): secrets is forbidden: User "jane" cannot list resource "secrets" in API group "" in the namespace "default"',
    });
  });

  test("creates a token for a service account that authenticates", async () => {
    await kubectl("admin", "create", "serviceaccount", "robot");
    const { output: token } = await kubectl("admin", "create", "token", "robot", "--duration=20m");
    const robot = await kubectl("jane", "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}");
    expect(robot.output).toBe("jane");
    const { body } = await server.transport.send({
      method: "POST",
      path: "/apis/authentication.k8s.io/v1/tokenreviews",
      body: { spec: { token } },
    });
    expect(body).toMatchObject({ status: { user: { username: "system:serviceaccount:default:robot" } } });
    const short = await kubectl("admin", "create", "token", "robot", "--duration=1m");
    expect(short.output).toContain("may not specify a duration less than 10 minutes");
  });

  test("auth reconcile writes roles from a file", async () => {
    expect((await kubectl("admin", "get", "clusterrole", "view", "-o", "name")).output).toBe(
      "clusterrole.rbac.authorization.k8s.io/view",
    );
    expect((await kubectl("admin", "describe", "clusterrole", "view")).output).toContain("sandboxes.agents.x-k8s.io");
  });
});
