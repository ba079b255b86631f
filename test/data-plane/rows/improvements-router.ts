import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { lastActivityAnnotation, sandboxes } from "@agent-sandbox/api";
import { createClient, HttpTransport, loadKubeconfig, type Transport } from "@agent-sandbox/kube";
import { accountToken, allowConnect } from "../accounts.ts";
import { ask, jsonOf, open } from "../ask.ts";
import { Certificates } from "../certificates.ts";
import type { Run } from "../checklist.ts";
import { podAddress } from "../pod-facts.ts";
import { inAnHour, scopedToken } from "../scoped-tokens.ts";
import { type Arrived, ports, type Subject } from "../subject.ts";
import { routerWith } from "../world.ts";
import { as, boxSecret } from "./auth.ts";
import { socketTo } from "./connections.ts";

const key = ({ name }: Subject) => ({ namespace: "default", name });

export const routerImprovements = {
  "a user reaches only sandboxes they may connect to": async ({ expect, subject, neighbour, box }) => {
    const client = await box.client();
    const name = `owner-of-${subject.name}`;
    const bearer = `Bearer ${await accountToken(client, name)}`;
    await allowConnect(client, { kind: "ServiceAccount", namespace: "default", name }, subject.name);
    expect([(await as(subject, bearer)).status, (await as(neighbour, bearer)).status]).toEqual([200, 403]);
  },

  "no Service and no DNS is needed": async (world) => {
    const { expect } = world;
    const { subject, box } = world;
    const { spec, status } = await (await box.client()).get(sandboxes, key(subject));
    expect([spec.service, status?.serviceFQDN]).toEqual([undefined, undefined]);
    // Only a scoped token and the name.
    const claims = { ns: "default", name: subject.name, exp: inAnHour() };
    const token = scopedToken(claims, { secret: boxSecret(world) });
    expect((await as(subject, `Bearer ${token}`)).status).toBe(200);
  },

  "an address from a client is never used as a target": async ({ expect, subject, neighbour, box }) => {
    const who = async (ip: string): Promise<string | undefined> => {
      const { headers } = await subject.arrived("/", { headers: { "x-sandbox-pod-ip": ip } });
      return Object.fromEntries(headers)["host"];
    };
    const own = await podAddress(box, subject.name);
    const foreign = [await podAddress(box, neighbour.name), "10.96.0.1", "fd00:ec2::254", "64:ff9b::7f00:1"];
    for (const ip of [own, ...foreign]) expect([ip, await who(ip)]).toEqual([ip, `${own}:8000`]);
  },

  "missing and suspended sandboxes are distinguished, and activity is recorded": async ({ expect, subject, box }) => {
    await box.resting();
    const answers = await Promise.all(
      ["no-such", "resting"].map(async (id) => {
        const { status, headers } = await subject.legacy("/", { headers: { "x-sandbox-id": id } });
        return [status, headers["x-sandbox-reason"]];
      }),
    );
    expect(answers).toEqual([
      [404, "SandboxNotFound"],
      [409, "SandboxSuspended"],
    ]);
    const client = await box.client();
    const used = async (): Promise<string | undefined> =>
      (await client.get(sandboxes, key(subject))).metadata.annotations?.[lastActivityAnnotation];
    await subject.legacy("/");
    await expect.poll(used, { timeout: 10_000 }).toMatch(/^\d{4}-\d\d-\d\dT/);
  },

  "the request target is forwarded byte for byte": async ({ expect, subject }) => {
    const targets = ["/a%2Fb/%2e%2e/c", "//double//slash", "/a/../b/./c", "/v1/%2Fworkspace?x=%00&x=+", "/%ff;p=1?"];
    for (const target of targets) expect((await subject.arrived(target)).target).toBe(target);
    await subject.rest("/files/%2Fworkspace%2Fraw", { method: "PUT", body: "x" });
    expect((await subject.rest("/files/%2Fworkspace%2Fraw")).text).toBe("x");
    expect((await subject.rest("/files//workspace/./raw")).text).toBe("x");
  },

  "encodings, cookies and documents are not changed": async ({ expect, subject }) => {
    const packed = await subject.ask(ports.workload, "/gzip");
    expect([packed.headers["content-encoding"], gunzipSync(packed.body).toString()]).toEqual(["gzip", "packed"]);
    expect(Number(packed.headers["content-length"])).toBe(packed.body.length);
    expect((await subject.ask(ports.workload, "/cookies")).headers["set-cookie"]).toEqual(["a=1", "b=2"]);
    for (const path of ["/docs", "/redoc", "/openapi.json", "/metrics", "/readyz"]) {
      expect((await subject.arrived(path)).target).toBe(path);
    }
    const arrived = await subject.arrived("/");
    expect(arrived.headers.filter(([name]) => name === "accept-encoding")).toEqual([]);
    const { rawHeaders } = await subject.legacy("/");
    const names = rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
    expect(new Set(names).size).toBe(names.length);
    const allowed = await subject.ask(ports.workload, "/", { method: "OPTIONS", headers: { origin: "http://page" } });
    expect(allowed.status).toBe(200);
  },

  "streams have no time limit, and WebSockets get a close frame": async (world) => {
    const { expect } = world;
    const quick = await routerWith(world, { timeoutMs: 700, shutdownMs: 5000 });
    using channel = await quick.subject.processes();
    // Four times the request timeout, with continuous progress.
    const { events, code } = await channel
      .start({ shell: "for i in 1 2 3 4 5 6 7 8 9; do echo $i; sleep 0.3; done" })
      .rest();
    expect([code, events.map(({ stdout = "" }) => stdout).join("")]).toEqual([0, "1\n2\n3\n4\n5\n6\n7\n8\n9\n"]);
    const socket = await socketTo(quick.subject);
    const closed = once(socket, "close");
    await quick[Symbol.asyncDispose]();
    expect(await closed).toEqual([1001, Buffer.from("going away")]);
  },

  "metric labels are bounded, errors reveal no details, requests have ids": async (world) => {
    const { expect } = world;
    await using observed = await routerWith(world, {});
    const { address, subject } = observed;
    await ask(address, "/", { headers: { "x-sandbox-id": "x", "x-sandbox-namespace": "made-up" } });
    await ask(address, "/", { headers: { ...subject.headers(ports.workload), "x-sandbox-namespace": "made-up" } });
    await subject.ask(ports.workload, "/", { method: "PROPFIND" });
    const metrics = await observed.router.metrics();
    expect(metrics).not.toMatch(/made-up|PROPFIND/);
    expect(metrics).toContain('method="other"');
    const refused = await subject.ask(1, "/");
    expect(refused.headers["x-request-id"]).toEqual(expect.any(String));
    expect(refused.text).not.toMatch(/ECONNREFUSED|10\.\d+\.\d+/);
  },

  "reviews are cached, and tokens for other audiences are refused": async (world) => {
    const { expect } = world;
    const { access } = await loadKubeconfig({ path: world.box.box.kubeconfig });
    const transport = new HttpTransport(access ?? missing());
    const reviews: string[] = [];
    const counting: Transport = {
      send: (call) => {
        if (call.path.includes("tokenreviews")) reviews.push(call.path);
        return transport.send(call);
      },
      stream: (call) => transport.stream(call),
      close: () => transport.close(),
    };
    await using router = await routerWith(world, { client: createClient(counting) });
    // A client that disconnects at once does not affect others.
    const gone = new AbortController();
    const left = open(router.address, "/", { headers: router.subject.headers(ports.workload), signal: gone.signal });
    const ended = left.catch((error: Error) => error.name);
    gone.abort();
    expect(await ended).toBe("AbortError");
    const answers = await Promise.all(Array.from({ length: 30 }, () => router.subject.ask(ports.workload, "/")));
    expect(answers.map(({ status }) => status)).toEqual(Array(30).fill(200));
    expect(reviews.length).toBe(1);
    await transport.close();
  },

  "keys can be rotated, and tokens are bound to a UID": async (world) => {
    const { expect } = world;
    using folder = new Certificates();
    const [file, old, next] = [folder.path("key"), "o".repeat(32), "n".repeat(32)];
    writeFileSync(file, old);
    await using router = await routerWith(world, { auth: { keyFiles: [file] } });
    const { subject, address } = router;
    const path = `/router/v1/namespaces/default/sandboxes/${subject.name}/tokens`;
    const headers = { authorization: `Bearer ${subject.token}` };
    const minted = jsonOf<{ token: string }>(await ask(address, path, { method: "POST", headers, body: "{}" }));
    const payload = JSON.parse(Buffer.from(minted.token.split(".")[2] ?? "", "base64url").toString()) as object;
    const { metadata } = await (await world.box.client()).get(sandboxes, key(subject));
    expect(payload).toMatchObject({ ns: "default", name: subject.name, uid: metadata.uid });
    const status = async (): Promise<number> => (await as(subject, `Bearer ${minted.token}`)).status;
    expect(await status()).toBe(200);
    writeFileSync(file, next);
    await expect.poll(status, { timeout: 10_000 }).toBe(401);
    const claims = { ns: "default", name: subject.name, exp: inAnHour() };
    expect((await as(subject, `Bearer ${scopedToken(claims, { secret: next })}`)).status).toBe(200);
  },

  "a browser logs in with a link": async ({ expect, subject }) => {
    const { router, name, token } = subject;
    const path = `/router/v1/namespaces/default/sandboxes/${name}/logins`;
    const host = `8000-${name}.default.localhost:${router.port}`;
    const offer = await ask(router, path, {
      method: "POST",
      body: JSON.stringify({ ports: [ports.workload] }),
      headers: { authorization: `Bearer ${token}`, host: `localhost:${router.port}` },
    });
    const url = new URL(jsonOf<{ url: string }>(offer).url);
    expect(url.host).toBe(host);
    const opened = { host, "sec-fetch-site": "none", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
    const target = `${url.pathname}${url.search}&to=%2Fapp`;
    const first = await ask(router, target, { headers: opened });
    expect([first.status, first.headers.location]).toEqual([303, "/app"]);
    const [session = ""] = first.headers["set-cookie"]?.[0]?.split(";") ?? [];
    const page = await ask(router, "/app", { headers: { ...opened, cookie: `${session}; theme=dark` } });
    const { headers } = jsonOf<Arrived>(page);
    expect([page.status, Object.fromEntries(headers)["cookie"]]).toEqual([200, "theme=dark"]);
    expect((await ask(router, target, { headers: opened })).status).toBe(401);
    expect((await ask(router, "/app", { headers: opened })).status).toBe(401);
    const elsewhere = { ...opened, host: `1-${name}.default.localhost:${router.port}`, cookie: session };
    expect((await ask(router, "/app", { headers: elsewhere })).status).toBe(401);
  },
} satisfies Record<string, Run>;

function missing(): never {
  throw new Error("Cannot find the kubeconfig");
}
