import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { CodeContexts } from "./code-contexts.ts";
import { Runtime } from "./runtime.ts";

test("a context that another call is creating is waited for", async () => {
  const asked: string[] = [];
  let lists = 0;
  await using server = createServer(({ method = "" }, response) => {
    asked.push(method);
    if (method === "POST") {
      response.writeHead(409).end(JSON.stringify({ code: "CONFLICT", message: "another one has the name" }));
      return;
    }
    // Its name is taken as soon as its creation begins, and it is shown when it can be used.
    const contexts = ++lists < 3 ? [] : [{ id: "1", name: "default-python", language: "python", cwd: "/" }];
    response.end(JSON.stringify({ contexts }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  using runtime = new Runtime(() => new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
  const target = { namespace: "team-a", name: "box", uid: "1", token: "t" };
  const contexts = new CodeContexts(runtime, target, new AbortController().signal);
  await contexts.ensure({ name: "default-python", language: "python", cwd: "/", env: {} });
  expect(asked).toEqual(["GET", "POST", "GET", "POST", "GET"]);
});
