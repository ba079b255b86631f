import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type SigningKey, signingKey } from "./auth/keyring.ts";
import { mintV1 } from "./auth/scoped-token.ts";
import { ask, type Served, TestCluster, toSandbox } from "./cluster.test.support.ts";
import type { Router } from "./start-router.ts";

const cluster = new TestCluster();
const key = signingKey("k".repeat(32)) as SigningKey;
const basic = (pair: string): string => `Basic ${Buffer.from(pair).toString("base64")}`;
let router: Router;
let pod: Served;
let scoped: string;

beforeAll(async () => {
  pod = await cluster.serve((request, response) => response.end(JSON.stringify(request.headers)));
  await cluster.pod(await cluster.sandbox("box-a"), pod.ip);
  await cluster.pod(await cluster.sandbox("box-b"), pod.ip);
  cluster.users.set("alice-token", { username: "alice", mayConnect: ["default/box-a"] });
  router = await cluster.router({ auth: { keys: [key] } });
  scoped = mintV1({ ns: "default", name: "box-a", exp: 4_102_444_800 }, key);
});
afterAll(() => cluster[Symbol.asyncDispose]());

/** The status, and the `Authorization` header that the sandbox got. */
async function asked(headers: Record<string, string>, name = "box-a"): Promise<unknown[]> {
  const { status, text, headers: got } = await ask(router, "/", toSandbox(name, pod.port, headers));
  expect(got["www-authenticate"]).toBeUndefined();
  return status === 200 ? [200, (JSON.parse(text) as { authorization?: string }).authorization] : [status];
}

describe("a token as the password of Basic", () => {
  test("gives the same access as a bearer token, and is not sent to the sandbox", async () => {
    expect(await asked({ Authorization: basic(`any:${scoped}`) })).toEqual([200, undefined]);
    expect(await asked({ Authorization: basic(`any:${scoped}`) }, "box-b")).toEqual([403]);
    expect(await asked({ Authorization: basic(":alice-token") })).toEqual([200, undefined]);
    expect(await asked({ Authorization: basic(":alice-token") }, "box-b")).toEqual([403]);
  });

  test("counts in a proxy's header too", async () => {
    const url = `http://${pod.port}-box-a.default.localhost/`;
    const { status } = await ask(router, url, { headers: { "Proxy-Authorization": basic(`any:${scoped}`) } });
    expect(status).toBe(200);
  });

  test.for([
    ["an empty password", () => ({ Authorization: basic(`${scoped}:`) })],
    ["a wrong token", () => ({ Authorization: basic("any:wrong") })],
    ["a header that is not base64", () => ({ Authorization: `Basic any:${scoped}` })],
    [
      "an empty header for the router",
      () => ({ Authorization: basic(`any:${scoped}`), "X-Sandbox-Authorization": "" }),
    ],
    [
      "a request to forward it",
      () => ({ Authorization: basic(`any:${scoped}`), "X-Sandbox-Forward-Authorization": "true" }),
    ],
    ["the port on which it names a user", () => ({ Authorization: basic(`any:${scoped}`), "X-Sandbox-Port": "49983" })],
    ["a page of another site", () => ({ Authorization: basic(`any:${scoped}`), Origin: "http://evil.example" })],
    ["a script of another site", () => ({ Authorization: basic(`any:${scoped}`), "Sec-Fetch-Site": "cross-site" })],
  ] as const)("does not count with %s", async ([, headers]) => {
    expect(await asked(headers())).toEqual([401]);
  });

  test("does not replace another credential", async () => {
    const app = basic("user:of-the-app");
    expect(await asked({ "X-Sandbox-Authorization": "Bearer alice-token", Authorization: app })).toEqual([200, app]);
  });
});
