import { namedServers, type SendHttp } from "@agent-sandbox/sdk/internal";
import { expect, test } from "vitest";
import { callerOf } from "../connect.ts";
import { followSandboxes } from "./follow-sandboxes.ts";

const lists = { items: [], metadata: { resourceVersion: "7" } };
const created = { type: "ADDED", object: { kind: "Sandbox", metadata: { name: "a", uid: "u" } } };

/** An API server with these answers to lists, whose watches of Sandboxes show one that is created. */
function callerWith(status: number, watched: string[]): ReturnType<typeof callerOf> {
  const send: SendHttp = async ({ url, signal }) => {
    const isWatch = url.includes("watch=true");
    if (isWatch) watched.push(url);
    const text = JSON.stringify(isWatch ? created : lists);
    return {
      status: isWatch ? 200 : status,
      header: () => undefined,
      body: (async function* () {
        yield Buffer.from(isWatch && !url.includes("/sandboxes?") ? "" : `${text}\n`);
        if (isWatch) await new Promise((resolve) => signal?.addEventListener("abort", resolve, { once: true }));
      })(),
    };
  };
  return callerOf({ user: "anna", send, servers: namedServers({ server: "http://api", token: "t" }, "http://router") });
}

test("watches from the version of the list on, and tells about changes", async () => {
  const ending = new AbortController();
  const watched: string[] = [];
  let changes = 0;
  await followSandboxes({ caller: callerWith(200, watched), onChange: () => void changes++, signal: ending.signal });
  await expect.poll(() => [changes, watched.length]).toEqual([1, 2]);
  for (const url of watched) expect(url).toContain("resourceVersion=7");
  ending.abort();
});

test("a user who may not list does not wait", async () => {
  const ending = new AbortController();
  const watched: string[] = [];
  await followSandboxes({ caller: callerWith(403, watched), onChange: () => undefined, signal: ending.signal });
  expect(watched).toEqual([]);
  ending.abort();
});
