import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { connect } from "@agent-sandbox/sdk";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { goBuildTimeoutMs, runGoWith } from "../sdk/go-module.ts";
import { pythonInstallTimeoutMs, pythonSources, requirePython } from "../sdk/python-package.ts";
import { kubectl } from "./kubectl.ts";
import { Namespace } from "./namespace.ts";
import { routerUrl } from "./product.ts";

const cluster = inject("cluster");
const timeout = Math.max(goBuildTimeoutMs, pythonInstallTimeoutMs);

const python = `
import os
from k8s_agent_sandbox import connect

with connect() as client:
    with client.create(image=os.environ["IMAGE"]) as sandbox:
        sandbox.files.write("note.txt", "from Python")
        print(sandbox.commands.run("cat note.txt; echo; echo $((6 * 7))").stdout, end="")
`;

const go = `package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/agent-sandbox/agent-sandbox/clients/go/sandbox"
)

func main() {
	ctx := context.Background()
	client, err := sandbox.Connect(ctx, sandbox.Options{})
	if err != nil {
		log.Fatal(err)
	}
	box, err := client.Create(ctx, sandbox.CreateOptions{Image: os.Getenv("IMAGE")})
	if err != nil {
		log.Fatal(err)
	}
	defer box.Close(ctx)
	if err := box.Files().WriteFrom(ctx, "note.txt", strings.NewReader("from Go")); err != nil {
		log.Fatal(err)
	}
	result, err := box.Commands().Run(ctx, "cat note.txt; echo; echo $((6 * 7))")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(result.Stdout)
}
`;

describe.skipIf(cluster.missing !== undefined).concurrent("the SDKs on a real cluster", { timeout }, () => {
  const folder = mkdtempSync(join(tmpdir(), "cluster-sdks-"));
  let namespace: Namespace;
  let env: Record<string, string>;

  /** A user who may use the Sandboxes of one namespace, and nothing else. */
  beforeAll(async () => {
    namespace = await Namespace.create(cluster, "sdks");
    await namespace.kubectl("create", "serviceaccount", "user");
    const verbs = "--verb=get,list,watch,create,patch,delete,connect";
    await namespace.kubectl("create", "role", "user", verbs, "--resource=sandboxes.agents.x-k8s.io");
    await namespace.kubectl("create", "rolebinding", "user", "--role=user", `--serviceaccount=${namespace.name}:user`);
    const token = (await namespace.kubectl("create", "token", "user")).trim();
    const admin = JSON.parse(await kubectl(cluster, ["config", "view", "--minify", "--raw", "-o", "json"])) as {
      clusters: object[];
    };
    const context = {
      name: "c",
      context: { cluster: (admin.clusters[0] as { name: string }).name, user: "u", namespace: namespace.name },
    };
    const config = { ...admin, users: [{ name: "u", user: { token } }], contexts: [context], "current-context": "c" };
    const kubeconfig = join(folder, "kubeconfig");
    writeFileSync(kubeconfig, JSON.stringify(config), { mode: 0o600 });
    env = {
      KUBECONFIG: kubeconfig,
      AGENT_SANDBOX_ROUTER_URL: await routerUrl(cluster),
      IMAGE: cluster.image,
      AGENT_SANDBOX_DATA_DIR: folder,
    };
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await namespace?.[Symbol.asyncDispose]();
  });

  test("TypeScript creates a Sandbox, writes a file and runs a command", async () => {
    const { KUBECONFIG: kubeconfig = "", AGENT_SANDBOX_ROUTER_URL: router = "" } = env;
    const client = await connect({ kubeconfig, router });
    await using sandbox = await client.create({ image: cluster.image });
    await sandbox.files.write("note.txt", "from TypeScript");
    const { stdout } = await sandbox.commands.run("cat note.txt; echo; echo $((6 * 7))");
    expect(stdout).toBe("from TypeScript\n42\n");
    client.close();
  });

  test("Python creates a Sandbox, writes a file and runs a command", async () => {
    const options = { env: { ...process.env, ...env, ...pythonSources } };
    const { stdout } = await promisify(execFile)(await requirePython(), ["-c", python], options);
    expect(stdout).toBe("from Python\n42\n");
  });

  test("Go creates a Sandbox, writes a file and runs a command", async () => {
    const program = join(folder, "main.go");
    writeFileSync(program, go);
    const { stdout, stderr } = await runGoWith(env, "run", program);
    expect({ stdout, stderr }).toEqual({ stdout: "from Go\n42\n", stderr: "" });
  });
});
