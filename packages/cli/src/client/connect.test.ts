import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { connect } from "./connect.ts";

const folder = mkdtempSync(join(tmpdir(), "connect-"));
afterAll(() => rmSync(folder, { recursive: true }));

const kubeconfig = join(folder, "kubeconfig");
const clusterOf = (name: string): object => ({ name, cluster: { server: `http://${name}.test:1` } });
const contextOf = (name: string): object => ({ name, context: { cluster: name, namespace: `team-${name}` } });
const file = { clusters: [clusterOf("a"), clusterOf("b")], contexts: [contextOf("a"), contextOf("b")] };
writeFileSync(kubeconfig, JSON.stringify({ ...file, "current-context": "a" }));

test("--context selects a context of the kubeconfig", async () => {
  await using first = await connect({ kubeconfig });
  expect([first.access.server, first.namespace]).toEqual(["http://a.test:1", "team-a"]);
  await using second = await connect({ kubeconfig, context: "b" });
  expect([second.access.server, second.namespace]).toEqual(["http://b.test:1", "team-b"]);
  await using named = await connect({ kubeconfig, context: "b", namespace: "mine" });
  expect(named.namespace).toBe("mine");
});

test("an unknown context is refused with the names of the others", async () => {
  await expect(connect({ kubeconfig, context: "c" })).rejects.toThrow('there is no context "c", there are "a", "b"');
});

test("--context without --kubeconfig does not use the box", async () => {
  const before = process.env["KUBECONFIG"];
  process.env["KUBECONFIG"] = kubeconfig;
  try {
    await using connection = await connect({ context: "b" });
    expect(connection.access.server).toBe("http://b.test:1");
  } finally {
    if (before === undefined) delete process.env["KUBECONFIG"];
    else process.env["KUBECONFIG"] = before;
  }
});
