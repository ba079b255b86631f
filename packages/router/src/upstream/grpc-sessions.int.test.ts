import { once } from "node:events";
import { createServer, type Http2Server } from "node:http2";
import { type AddressInfo, connect } from "node:net";
import type { Sandbox } from "@agent-sandbox/api";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Target } from "../cluster/target.ts";
import { GrpcSessions } from "./grpc-sessions.ts";

let server: Http2Server;
beforeAll(async () => {
  server = createServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
});
afterAll(() => void server.close());

test("all gRPC calls to a pod end when it is gone, including those on a session that accepts no new calls", async () => {
  const { port } = server.address() as AddressInfo;
  const place = { podUid: "pod", podName: "p", namespace: "n", ip: "127.0.0.1", port, epoch: undefined };
  const target: Target = { ...place, sandbox: {} as Sandbox };
  using sessions = new GrpcSessions({ dial: () => Promise.resolve(connect(port, "127.0.0.1")) });
  const first = await sessions.get(target);
  const call = first.request({ ":method": "POST", ":path": "/p.S/M" }).on("error", () => undefined);
  await once(server, "stream");
  first.close();
  const second = await sessions.get(target);
  expect(second === first).toBe(false);
  sessions.drop("pod");
  expect([first.destroyed, second.destroyed, call.destroyed]).toEqual([true, true, true]);
});
