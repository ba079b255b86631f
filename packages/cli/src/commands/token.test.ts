import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ApiServer, createApiServer } from "@agent-sandbox/apiserver";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { createToken, parseAccount, printToken } from "./token.ts";

let root: string;
let kubeconfig: string;
let server: ApiServer;
let said: string[];
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), "token-"));
  kubeconfig = join(root, "kubeconfig");
  server = await createApiServer();
  (await server.listen()).writeKubeconfig(kubeconfig);
  const path = "/api/v1/namespaces/default/serviceaccounts";
  await server.transport.send({ method: "POST", path, body: { metadata: { name: "robot" } } });
});
afterAll(async () => {
  await server.close();
  rmSync(root, { recursive: true });
});
beforeEach(() => {
  said = [];
  vi.spyOn(console, "log").mockImplementation((line: string) => void said.push(line));
});
afterEach(() => void vi.restoreAllMocks());

const userFile = (user: object): string => {
  const file = join(root, "other");
  const cluster = { server: "http://127.0.0.1:1" };
  const parts = { clusters: [{ name: "c", cluster }], users: [{ name: "u", user }] };
  const contexts = [{ name: "x", context: { cluster: "c", user: "u" } }];
  writeFileSync(file, JSON.stringify({ ...parts, contexts, "current-context": "x" }));
  return file;
};

test("prints the token of the kubeconfig, and asks no server for it", async () => {
  await printToken({ kubeconfig: userFile({ token: "secret" }) });
  expect(said).toEqual(["secret"]);
});

test("a kubeconfig without a token names the way to get one", async () => {
  await expect(printToken({ kubeconfig: userFile({}) })).rejects.toThrow("agent-sandbox token create NAMESPACE/NAME");
});

test("creates a token that is valid for the given time", async () => {
  await createToken("default/robot", { kubeconfig, duration: "30m" });
  const [, payload = ""] = (said[0] ?? "").split(".");
  const claims = JSON.parse(Buffer.from(payload, "base64url").toString("utf8")) as Record<string, number>;
  expect(claims).toMatchObject({ sub: "system:serviceaccount:default:robot" });
  expect((claims["exp"] ?? 0) - (claims["iat"] ?? 0)).toBe(1800);
});

test.for([
  ["default/none", "1h", 'serviceaccounts "none" not found'],
  ["default/robot", "1s", "10 minutes"],
  ["default/robot", "soon", 'Cannot read duration "soon"'],
  ["default/robot", "-1h", 'Cannot read duration "-1h"'],
] as const)("refuses %s for %s", async ([account, duration, expected]) => {
  await expect(createToken(account, { kubeconfig, duration })).rejects.toThrow(expected);
  expect(said).toEqual([]);
});

test("an account without a namespace is in that of the options", () => {
  expect(parseAccount("robot")).toEqual({ name: "robot" });
  expect(parseAccount("team/robot")).toEqual({ namespace: "team", name: "robot" });
  for (const text of ["", "/robot", "team/", "a/b/c"]) expect(() => parseAccount(text)).toThrow("write NAMESPACE/NAME");
});
