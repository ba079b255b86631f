import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { machineReportAnnotation, type Pod, parseMachineReport } from "@agent-sandbox/api";
import { kubeEvents } from "@agent-sandbox/kube";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createNode, type EmbeddedNode } from "./create-node.ts";
import { leases, nodes, pods } from "./resources.ts";
import { cannotRun } from "./testing/runtimes.ts";
import { isGone, isReady, namespace, nodeName, openTestApi, type TestApi } from "./testing/test-api.ts";
import { findTraces, noTraces } from "./testing/traces.ts";

describe.skipIf(cannotRun)("a node with real containers", () => {
  let dataDir: string;
  let api: TestApi;
  let node: EmbeddedNode;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "node-int-"));
    api = openTestApi();
    node = await createNode({ client: api.client, defaultRuntime: "runc", nodeName, dataDir });
    await node.ready;
    // The first Pod waits for the image, which costs an additional status write. The test below counts writes.
    await api.create("warm-up");
    await api.until("warm-up", isReady);
    await remove("warm-up");
  });

  afterAll(async () => {
    await node?.teardown();
    await rm(dataDir, { recursive: true, force: true });
  });

  const run = async (
    pod: string,
    command: string[],
    input?: string,
  ): Promise<{ out: string; err: string; code: number }> => {
    const session = await node.podStreams.exec({ namespace, pod, command, tty: false, stdin: input !== undefined });
    session.stdin.end(input);
    const [out, err, { code }] = await Promise.all([text(session.stdout), text(session.stderr), session.exit]);
    return { out, err, code };
  };
  const shell = async (pod: string, script: string): Promise<string> =>
    (await run(pod, ["sh", "-c", script])).out.trim();
  const remove = async (name: string, gracePeriodSeconds = 5): Promise<void> => {
    await api.client.delete(pods, { namespace, name }, { gracePeriodSeconds });
    await api.until(name, isGone);
  };

  test("registers the Node", () => {
    const [registered] = api.server.readAll(nodes);
    expect(registered?.status?.conditions).toMatchObject([
      { type: "Ready", status: "True" },
      { type: "MemoryPressure", status: "False" },
      { type: "DiskPressure" },
      { type: "PIDPressure", status: "False" },
      { type: "SharedKernel" },
    ]);
    expect(Number(registered?.status?.capacity?.["cpu"])).toBeGreaterThan(0);
    expect(api.server.readAll(leases)).toMatchObject([{ metadata: { namespace: "kube-node-lease", name: nodeName } }]);
  });

  test("reports on the Node what the machine supports, and how full it is", async () => {
    const report = (): unknown =>
      parseMachineReport(api.server.readAll(nodes)[0]?.metadata?.annotations?.[machineReportAnnotation]);
    await expect.poll(report, { timeout: 60_000 }).toMatchObject({
      checks: expect.arrayContaining([
        expect.objectContaining({ name: "kernel", state: "ok" }),
        expect.objectContaining({ name: "overlayfs", state: "ok" }),
        expect.objectContaining({ name: "runtime runc", detail: expect.stringMatching(/^the default; .*: works$/) }),
      ]),
      runtimes: expect.arrayContaining([{ name: "runc", use: "default", depth: "Filesystem", kernel: "shared" }]),
      amounts: { diskBytes: { used: expect.any(Number), most: expect.any(Number) }, savedImages: { used: 0 } },
    });
    expect(await readdir(join(dataDir, "node"))).not.toContainEqual(expect.stringContaining("doctor"));
  });

  test("warns that Pods share the machine's kernel", async () => {
    expect(node.warnings).toEqual([expect.stringContaining("share this machine's kernel")]);
    const warnings = (): unknown => api.server.readAll(kubeEvents).filter(({ regarding }) => regarding.kind === "Node");
    await expect.poll(warnings).toMatchObject([{ type: "Warning", reason: expect.stringMatching(/^GVisor/) }]);
  });

  test("a Pod becomes Running and Ready in two status writes, runs exec, and leaves nothing behind", async () => {
    const before = api.server.writes.get("patch pods/status") ?? 0;
    await api.create("first");
    const pod = await api.until("first", isReady);
    expect(pod.status).toMatchObject({
      phase: "Running",
      podIP: expect.stringMatching(/^10\./),
      containerStatuses: [{ restartCount: 0, state: { running: {} } }],
    });
    expect(api.server.writes.get("patch pods/status")).toBe(before + 2);

    expect(await run("first", ["sh", "-c", "echo out; echo err >&2; exit 7"])).toEqual({
      out: "out\n",
      err: "err\n",
      code: 7,
    });
    expect(await run("first", ["cat"], "through")).toEqual({ out: "through", err: "", code: 0 });
    expect(await shell("first", "hostname; hostname -I")).toBe(`first\n${pod.status?.podIP}`);
    await expect(run("first", ["no-such-program"])).rejects.toThrow(
      'Cannot run "no-such-program" in Pod "default/first"',
    );
    await expect(run("nobody", ["true"])).rejects.toMatchObject({ reason: "NotFound" });

    await remove("first");
    expect(await findTraces(dataDir)).toEqual(noTraces);
  });

  test("a terminal has the requested size", async () => {
    await api.create("terminal");
    await api.until("terminal", isReady);
    const command = [
      "sh",
      "-c",
      'until [ "$(stty size)" = "40 100" ]; do sleep 0.05; done; read line; echo "$TERM $line"',
    ];
    const session = await node.podStreams.exec({ namespace, pod: "terminal", command, tty: true, stdin: true });
    session.resize(100, 40);
    session.stdin.write("typed\n");
    expect(await Promise.all([text(session.stdout), text(session.stderr), session.exit])).toEqual([
      "typed\r\nxterm typed\r\n",
      "",
      { code: 0 },
    ]);
    await remove("terminal");
  });

  test("a sandbox has no access to the machine's files and cannot change the machine", async () => {
    await api.create("jail");
    await api.until("jail", isReady);
    const status = await shell("jail", "grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status");
    expect(status.split("\n").map((line) => line.split(/:\s+/))).toEqual([
      ["CapEff", "00000000000004fb"],
      ["CapBnd", "00000000000004fb"],
      ["NoNewPrivs", "1"],
      ["Seccomp", "2"],
    ]);
    expect(
      await shell("jail", "ls -A /root /home /mnt /opt /srv /usr/local/etc /usr/etc 2>/dev/null | grep -v :"),
    ).toBe("");
    expect(await shell("jail", `ls -d /etc/shadow /etc/ssh /boot ${dataDir} 2>/dev/null`)).toBe("");
    expect(await shell("jail", "ls /proc | grep -c '^[0-9]'")).toMatch(/^[3-8]$/);
    const attempts = {
      mount: "mount -t tmpfs none /mnt",
      "new namespace": "unshare -n true",
      "user namespace": "unshare -U true",
      "write to /usr": "touch /usr/x",
      "write to /proc/sys": "echo 1 > /proc/sys/kernel/panic",
      "write to a cgroup": "mkdir /sys/fs/cgroup/pids/x",
      "make a device": "mknod /tmp/sda b 8 0",
      "kernel log": "dmesg",
      "set the clock": "date -s 2000-01-01",
      "change the network": "ip link set lo down",
    };
    for (const [what, script] of Object.entries(attempts)) {
      expect({ what, denied: (await run("jail", ["sh", "-c", script])).code !== 0 }).toEqual({ what, denied: true });
    }
    await remove("jail");
  });

  test("the machine reaches a Pod; a Pod reaches Pods of its namespace, but not the machine", async () => {
    const server = [
      "python3",
      "-c",
      "import socket; s=socket.create_server(('0.0.0.0',80)); print('up', flush=True)\nwhile True: c,_=s.accept(); c.send(b'hello'); c.close()",
    ];
    await Promise.all([
      api.create("server", {
        containers: [{ name: "main", image: "host", command: server, securityContext: { runAsUser: 1000 } }],
      }),
      api.create("other"),
    ]);
    const [pod] = await Promise.all([api.until("server", isReady), api.until("other", isReady)]);
    const address = pod.status?.podIP ?? "";
    // A Ready Pod has started its command, but the server may not listen yet.
    let greeting = "";
    for (let tries = 0; tries < 100 && greeting === ""; tries++) {
      greeting = await shell(
        "server",
        "python3 -c \"import socket; print(socket.create_connection(('127.0.0.1',80),2).recv(9).decode())\" 2>/dev/null",
      );
    }
    expect(greeting).toBe("hello");
    expect(await text(connect(80, address))).toBe("hello");
    const reach = (host: string): Promise<string> =>
      shell(
        "other",
        `python3 -c "
import socket
try: socket.create_connection(('${host}',80),0.5); print('reached')
except OSError: print('not reached')"`,
      );
    const gateway = await shell("other", "ip route show default | cut -d ' ' -f 3");
    await using listener = createServer().listen(80, gateway);
    await once(listener, "listening");
    expect(await text(connect(80, gateway).end())).toBe("");
    const reached = [await reach("127.0.0.1"), await reach(address), await reach(gateway)];
    expect(reached).toEqual(["not reached", "reached", "not reached"]);
    await Promise.all([remove("server", 1), remove("other")]);
  });

  test("a failed Pod reports its exit code and is removed when deleted", async () => {
    await api.create("once", {
      restartPolicy: "Never",
      containers: [{ name: "main", image: "host", command: ["sh", "-c", "exit 3"] }],
    });
    const pod = await api.until("once", (one) => one?.status?.phase === "Failed");
    expect(pod.status?.containerStatuses).toMatchObject([
      { ready: false, restartCount: 0, state: { terminated: { exitCode: 3, reason: "Error" } } },
    ]);
    await remove("once");
    expect(await findTraces(dataDir)).toEqual(noTraces);
  });

  test("a restarted container keeps its files", async () => {
    const script = "if [ -e /root/again ]; then trap 'exit 0' TERM; sleep 1000 & wait; fi; touch /root/again; exit 5";
    await api.create("again", {
      restartPolicy: "OnFailure",
      containers: [{ name: "main", image: "host", command: ["sh", "-c", script] }],
    });
    const pod = await api.until(
      "again",
      (one) => isReady(one) && one?.status?.containerStatuses?.[0]?.restartCount === 1,
    );
    expect(pod.status?.containerStatuses).toMatchObject([
      { lastState: { terminated: { exitCode: 5, reason: "Error" } } },
    ]);
    await remove("again");
  });

  test("a container that runs out of memory is OOMKilled", async () => {
    const main = {
      name: "main",
      image: "host",
      command: ["python3", "-c", "bytearray(200_000_000)"],
      resources: { limits: { memory: "48Mi" } },
    };
    await api.create("hungry", { restartPolicy: "Never", containers: [main] });
    const pod = await api.until("hungry", (one) => one?.status?.phase === "Failed");
    expect(pod.status?.containerStatuses).toMatchObject([
      { state: { terminated: { exitCode: 137, reason: "OOMKilled" } } },
    ]);
    await remove("hungry");
  });

  test("a container that ignores SIGTERM is killed after the grace period", async () => {
    const command = ["sh", "-c", "trap '' TERM; while :; do sleep 1; done"];
    await api.create("deaf", { containers: [{ name: "main", image: "host", command }] });
    await api.until("deaf", isReady);
    await remove("deaf", 1);
    expect(await findTraces(dataDir)).toEqual(noTraces);
  });

  test("disconnecting ends a command and all processes it started", async () => {
    await api.create("hang");
    await api.until("hang", isReady);
    for (const tty of [false, true]) {
      const command = ["sh", "-c", "(setsid sleep 3131 &) ; sleep 3132 & echo up; wait"];
      const session = await node.podStreams.exec({ namespace, pod: "hang", command, tty, stdin: true });
      await new Promise((resolve) => session.stdout.once("data", resolve));
      session.kill();
      await session.exit;
      expect(await shell("hang", "ps ax | grep -c '[s]leep 313'")).toBe("0");
    }
    await remove("hang");
  });

  test("a force-deleted Pod is torn down, and its name can be used at once", async () => {
    await api.create("forced");
    const first = await api.until("forced", isReady);
    await api.client.delete(pods, { namespace, name: "forced" }, { gracePeriodSeconds: 0 });
    await api.create("forced");
    const second = await api.until("forced", isReady);
    expect(second.metadata?.uid).not.toBe(first.metadata?.uid);
    await remove("forced");
    // The teardown of the first Pod is not visible in the API.
    await expect.poll(() => findTraces(dataDir), { timeout: 10_000 }).toEqual(noTraces);
  });

  test("a Pod that cannot run has a message and an event, and can be deleted", async () => {
    const waitingFor = (reasonWanted: string) => (pod: Pod | undefined) =>
      pod?.status?.containerStatuses?.[0]?.state?.waiting?.reason === reasonWanted;
    await api.create("privileged", {
      containers: [{ name: "main", image: "host", securityContext: { privileged: true } }],
    });
    await api.create("foreign", { containers: [{ name: "main", image: "127.0.0.1:1/nginx" }] });
    await api.create("typo", { containers: [{ name: "main", image: "host", command: ["/no/such/program"] }] });
    const [refused, foreign, typo] = await Promise.all([
      api.until("privileged", waitingFor("CreateContainerConfigError")),
      api.until("foreign", waitingFor("ErrImagePull")),
      api.until("typo", waitingFor("CreateContainerError")),
    ]);
    const messages = [refused, foreign, typo].map((pod) => pod.status?.containerStatuses?.[0]?.state?.waiting?.message);
    expect(messages).toEqual([
      expect.stringContaining("spec.containers[0].securityContext.privileged"),
      expect.stringContaining('Cannot pull image "127.0.0.1:1/nginx:latest"'),
      expect.stringContaining("/no/such/program"),
    ]);
    for (const name of ["privileged", "foreign", "typo"]) await remove(name);
    const warnings = api.server
      .readAll(kubeEvents)
      .filter(({ type, regarding }) => type === "Warning" && regarding.kind === "Pod")
      .map(({ type, reason: why, regarding }) => `${type} ${why} ${regarding?.name}`);
    expect(warnings.toSorted()).toEqual(["Warning Failed foreign", "Warning Failed privileged", "Warning Failed typo"]);
    expect(await findTraces(dataDir)).toEqual(noTraces);
  });
});
