import { once } from "node:events";
import { type IncomingMessage, request, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { RouterProcess } from "./router-process.ts";
import { RouterWorld } from "./router-world.ts";

let world: RouterWorld;
let routers: [RouterProcess, RouterProcess];
let urls: string[];
beforeAll(async () => {
  world = await RouterWorld.open();
  routers = [world.startRouter(), world.startRouter()];
  urls = await Promise.all(routers.map(async (router) => (await router.started).url));
});
afterAll(() => world[Symbol.asyncDispose]());

interface Call {
  readonly name: string;
  readonly port: number;
  readonly token?: string;
  readonly path?: string;
}

async function ask(url: string, { name, port, token = world.tokenFor(name), path = "/" }: Call) {
  const headers = { "x-sandbox-id": name, "x-sandbox-port": String(port), authorization: `Bearer ${token}` };
  const sent = request(url, { path, headers, agent: false }).end();
  const [response] = await once(sent, "response");
  return { status: response.statusCode as number, body: await text(response) };
}

test("both become ready", async () => {
  for (const router of routers) {
    const { probesAddress } = await router.started;
    const ready = async () => (await fetch(`http://127.0.0.1:${probesAddress.port}/readyz`)).status;
    await expect.poll(ready, { timeout: 30_000 }).toBe(200);
  }
});

test.each([
  ["that its idle policy suspended", { idlePolicy: { suspendAfterSeconds: 60 } }, "Idle"],
  ["that traffic resumes", { operatingMode: "Suspended", resumePolicy: "OnTraffic" }, "Suspended"],
])("ten requests at each of two replicas wake a sandbox %s with one write", async (_title, spec, reason) => {
  const name = `asleep-${reason.toLowerCase()}`;
  const sleeping = await world.sleepingSandbox(name, spec, reason);
  const asked = urls.flatMap((url) => Array.from({ length: 10 }, () => ask(url, { name, port: sleeping.port })));
  for (const router of routers) {
    const { metricsAddress } = await router.started;
    const waiting = async (): Promise<string> => {
      const metrics = await (await fetch(`http://127.0.0.1:${metricsAddress.port}/metrics`)).text();
      return /^sandbox_router_waiting_requests (\d+)$/m.exec(metrics)?.[1] ?? "";
    };
    await expect.poll(waiting, { timeout: 30_000 }).toBe("10");
  }
  await sleeping.wake();
  expect((await Promise.all(asked)).map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
  expect(sleeping.routerWrites()).toBe(1);
});

test("a token is valid at each replica, and revoked at each", async () => {
  const { port } = await world.sandbox("shared", (_request, response) => void response.end("here"));
  const token = world.tokenFor("shared");
  const statuses = (): Promise<number[]> =>
    Promise.all(urls.map(async (url) => (await ask(url, { name: "shared", port, token })).status));
  await expect.poll(statuses).toEqual([200, 200]);
  await world.revokeTokens("shared");
  await expect.poll(statuses).toEqual([403, 403]);
});

test("the loss of one replica ends its connections only", async () => {
  const held: ServerResponse[] = [];
  const { port } = await world.sandbox("held", (asked, response) => {
    if (asked.url !== "/held") return void response.end("here");
    response.write("first ");
    held.push(response);
  });
  const parts = urls.map(() => "");
  const ends = urls.map(async (url, index) => {
    const authorization = `Bearer ${world.tokenFor("held")}`;
    const headers = { "x-sandbox-id": "held", "x-sandbox-port": String(port), authorization };
    const sent = request(url, { path: "/held", headers, agent: false }).end();
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    response.on("data", (chunk: Buffer) => {
      parts[index] += chunk.toString("utf8");
    });
    return await Promise.race([
      once(response, "end").then(() => "whole"),
      new Promise<string>((resolve) => response.once("error", () => resolve("cut"))),
    ]);
  });
  await expect.poll(() => parts).toEqual(["first ", "first "]);
  await routers[0].kill();
  expect(await ends[0]).toBe("cut");
  for (const response of held) response.end("last");
  expect([await ends[1], parts[1]]).toEqual(["whole", "first last"]);
  expect((await ask(urls[1] ?? "", { name: "held", port })).body).toBe("here");
});
