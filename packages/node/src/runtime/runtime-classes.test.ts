import { createClient } from "@agent-sandbox/kube";
import { MemoryApiServer } from "@agent-sandbox/kube/testing";
import { expect, test } from "vitest";
import { runtimeClasses, syncRuntimeClasses } from "./runtime-classes.ts";

test("the classes are those of this machine, and what others wrote stays", async () => {
  const server = new MemoryApiServer({ resources: [runtimeClasses] });
  const client = createClient(server);
  await client.create(runtimeClasses, { metadata: { name: "theirs" }, handler: "kata" });
  await client.create(runtimeClasses, { metadata: { name: "runc" }, handler: "another" });
  const handlers = (): string[] =>
    server
      .readAll(runtimeClasses)
      .map(({ metadata, handler }) => `${metadata?.name}=${handler}`)
      .toSorted();

  await syncRuntimeClasses(client, ["gvisor", "runc"]);
  expect(handlers()).toEqual(["gvisor=gvisor", "runc=another", "theirs=kata"]);
  await syncRuntimeClasses(client, ["runc"]);
  expect(handlers()).toEqual(["runc=another", "theirs=kata"]);
});
