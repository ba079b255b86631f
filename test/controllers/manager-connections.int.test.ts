import { HttpTransport } from "@agent-sandbox/kube";
import { expect, test } from "vitest";
import { HostileApi } from "../../packages/kube/src/client/http/hostile-api.test.support.ts";

test.for([1, 4])(
  "spreads requests over --api-connections=%i connections that no watch uses (MANAGER-8)",
  async (connections) => {
    const waiting: (() => void)[] = [];
    const { promise: allThere, resolve } = Promise.withResolvers<void>();
    await using api = await HostileApi.start(({ url = "" }, response) => {
      if (url.includes("watch=true")) {
        response.writeHead(200).flushHeaders();
        return;
      }
      waiting.push(() => response.setHeader("content-type", "application/json").end("{}"));
      if (waiting.length === connections) resolve();
    });
    const transport = new HttpTransport(api.access(), { connections });
    const stop = new AbortController();
    for (let watch = 0; watch < 2; watch += 1) {
      await transport.stream({ method: "GET", path: "/api/v1/pods?watch=true", signal: stop.signal });
    }
    expect(api.connections).toBe(2);
    // As many requests as connections can be pending at the same time: no watch uses one of them.
    const sent = Array.from({ length: connections }, () => transport.send({ method: "GET", path: "/api/v1/pods" }));
    await allThere;
    expect(api.connections).toBe(2 + connections);
    for (const answer of waiting) answer();
    await Promise.all(sent);
    stop.abort();
    await transport.close();
  },
);
