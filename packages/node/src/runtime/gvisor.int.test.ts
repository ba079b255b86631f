import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { Container } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createNode } from "../create-node.ts";
import { pods } from "../resources.ts";
import { cannotRun } from "../testing/runtimes.ts";
import { isGone, isReady, namespace, nodeName, openTestApi } from "../testing/test-api.ts";
import { hasPhase, isOver, openTestBox, statusOf, type TestBox } from "../testing/test-box.ts";
import { findShared, findTraces, noTraces } from "../testing/traces.ts";

const script = (name: string, command: string, more: Partial<Container> = {}): Container => ({
  name,
  image: "host",
  command: ["sh", "-c", command],
  ...more,
});
const stay = 'trap "exit 0" TERM; while :; do sleep 3600 & wait $!; done';
/** Prints the addresses of the interface inside the sandbox. */
const addresses = "hostname -I | tr -d ' '";

/** How many seccomp filters the kernel of a Pod's sandbox has. */
async function seccompFilters(uid: string): Promise<number> {
  for (const pid of await readdir("/proc")) {
    const words = await readFile(join("/proc", pid, "cmdline"), "utf8").catch(() => "");
    if (!words.startsWith("runsc-sandbox") || !words.includes(uid)) continue;
    return Number(/^Seccomp_filters:\s*(\d+)$/m.exec(await readFile(join("/proc", pid, "status"), "utf8"))?.[1]);
  }
  return Number.NaN;
}

describe.skipIf(cannotRun)("Pods under gVisor", () => {
  let box: TestBox;
  beforeAll(async () => {
    box = await openTestBox({
      defaultRuntime: "gvisor",
      backoff: { firstMs: 10, longestMs: 100, forgetAfterMs: 600_000 },
    });
  });
  afterAll(() => box?.[Symbol.asyncDispose]());

  test("a Pod runs on gVisor's kernel and leaves nothing behind", async () => {
    await box.create("first", {});
    const pod = await box.api.until("first", isReady);
    expect(statusOf(pod)?.containerID).toMatch(/^gvisor:\/\//);
    expect(await box.shell("first", "dmesg | head -1")).toContain("Starting gVisor");
    expect(await box.shell("first", `hostname; ${addresses}`)).toBe(`first\n${pod.status?.podIP}`);
    // gVisor's own, and the one that refuses it to make CPUID fault, where the processor could.
    const canFault = (await readFile("/proc/cpuinfo", "utf8")).includes("cpuid_fault");
    expect(await seccompFilters(pod.metadata?.uid ?? "")).toBe(canFault ? 2 : 1);
    await box.remove("first");
    expect(await findTraces(box.dataDir)).toEqual(noTraces);
  });

  test("a container can have the longest name that Kubernetes allows", async () => {
    const names = ["a", "b"].map((letter) => letter.repeat(63));
    await box.create("longest", { spec: { containers: names.map((name) => script(name, stay)) } });
    await box.api.until("longest", isReady);
    for (const name of names) expect(await box.shell("longest", "echo here", name)).toBe("here");
    await box.create("alone", { spec: { containers: names.slice(1).map((name) => script(name, stay)) } });
    await box.api.until("alone", isReady);
    expect(await box.shell("alone", "echo here")).toBe("here");
    await Promise.all([box.remove("longest"), box.remove("alone")]);
    expect(await findTraces(box.dataDir)).toEqual(noTraces);
  });

  test("runtimeClassName runc uses the machine's kernel, and an unknown class is refused with the supported ones", async () => {
    await box.create("named", { spec: { runtimeClassName: "runc" } });
    const pod = await box.api.until("named", isReady);
    expect(statusOf(pod)?.containerID).toMatch(/^runc:\/\//);
    expect(await box.shell("named", "dmesg 2>&1 | head -1")).not.toContain("gVisor");
    await box.create("unknown", { spec: { runtimeClassName: "kata" } });
    await box.api.until("unknown", (one) => statusOf(one)?.state?.waiting?.message?.includes("kata") ?? false);
    expect(box.events("unknown").join("\n")).toContain(
      '"kata" is not supported by this node; supported: "gvisor", "runc"',
    );
    await Promise.all([box.remove("named"), box.remove("unknown")]);
  });

  test("exec has streams, exit code and the container's user; a missing program is an error", async () => {
    await box.create("commands", { spec: { securityContext: { runAsUser: 1000, runAsGroup: 1001 } } });
    await box.api.until("commands", isReady);
    const exec = (command: string[], tty = false) =>
      box.node.podStreams.exec({ namespace, pod: "commands", command, tty, stdin: true });
    const session = await exec(["sh", "-c", "cat; id -u; id -g; echo err >&2; exit 7"]);
    session.stdin.end("through\n");
    expect(await Promise.all([text(session.stdout), text(session.stderr), session.exit])).toEqual([
      "through\n1000\n1001\n",
      "err\n",
      { code: 7 },
    ]);
    await expect(exec(["no-such-program"])).rejects.toThrow('Cannot run "no-such-program" in Pod "default/commands"');

    // Without a terminal the node calls the sandbox itself, unless the arguments are too long. With one it starts runsc.
    const rights = ["grep", "-E", "^(Uid|Gid|Groups|Cap|NoNewPrivs|Seccomp)", "/proc/self/status"];
    const [inside, outside] = await Promise.all(
      [false, true].map(async (tty) => text((await exec(rights, tty)).stdout)),
    );
    expect(inside).toMatch(/^CapEff:\t[0-9a-f]{16}$/m);
    expect(outside?.replaceAll("\r", "")).toBe(inside);
    // Programs open their streams again, for example to write a log to the standard output.
    const opened = await exec(["sh", "-c", "cat < /dev/stdin > /dev/stdout; echo err > /dev/stderr"]);
    opened.stdin.end("in");
    expect([await text(opened.stdout), await text(opened.stderr)]).toEqual(["in", "err\n"]);
    const long = await exec(["sh", "-c", "echo ${#1}", "sh", "x".repeat(120_000)]);
    expect(await text(long.stdout)).toBe("120000\n");
    const killed = await exec(["sh", "-c", "kill -TERM $$"]);
    expect((await Promise.all([killed.exit, text(killed.stdout), text(killed.stderr)]))[0]).toEqual({ code: 143 });

    const wait = 'until [ "$(stty size)" = "40 100" ]; do sleep 0.05; done; read line; echo "$TERM $line"';
    const terminal = await exec(["sh", "-c", wait], true);
    terminal.resize(100, 40);
    terminal.stdin.write("typed\n");
    expect(await Promise.all([text(terminal.stdout), terminal.exit])).toEqual([
      "typed\r\nxterm typed\r\n",
      { code: 0 },
    ]);

    for (const tty of [false, true, false, true, false, true]) {
      const left = await exec(["sh", "-c", "echo up; sleep 4242; echo done"], tty);
      await once(left.stdout, "data");
      left.kill();
      await left.exit;
    }
    expect(await box.shell("commands", "cat /proc/*/cmdline | tr '\\0' ' ' | grep -c 'sleep 424[2]'")).toBe("0");
    await box.remove("commands");
  });

  test("containers share the network, and have their own files, processes, logs and exit codes", async () => {
    const server =
      "import socket; s=socket.create_server(('127.0.0.1',80)); c,_=s.accept(); c.send(b'hello'); c.close()";
    const client = "until exec 3<>/dev/tcp/127.0.0.1/80; do sleep 0.1; done 2>/dev/null; cat <&3; exit 3";
    await box.create("several", {
      spec: {
        restartPolicy: "Never",
        initContainers: [script("before", `${addresses}; echo first >/shared/order`, shared("/shared"))],
        containers: [
          script("server", `python3 -c "${server}"; echo served`),
          { name: "client", image: "host", command: ["bash", "-c", client] },
          script("reader", "cat /shared/order; echo /proc/[0-9]* | wc -w", shared("/shared")),
        ],
        volumes: [{ name: "shared", emptyDir: {} }],
      },
    });
    const pod = await box.api.until("several", isOver);
    expect(pod.status?.phase).toBe("Failed");
    expect(
      ["before", "server", "client", "reader"].map((name) => statusOf(pod, name)?.state?.terminated?.exitCode),
    ).toEqual([0, 0, 3, 0]);
    expect(await box.log("several", "before")).toBe(`${pod.status?.podIP}\n`);
    expect(await box.log("several", "server")).toBe("served\n");
    expect(await box.log("several", "client")).toBe("hello");
    // Only the shell and wc, no process of the other containers.
    expect(await box.log("several", "reader")).toMatch(/^first\n[2-4]\n$/);
    await box.remove("several");
    expect(await findTraces(box.dataDir)).toEqual(noTraces);
  });

  test("a restarted container keeps its files and network", async () => {
    await box.create("again", {
      spec: { containers: [script("main", `${addresses} >>/log; [ $(wc -l </log) -gt 1 ] || exit 1; ${stay}`)] },
    });
    const pod = await box.api.until("again", (one) => statusOf(one)?.restartCount === 1 && isReady(one));
    const address = pod.status?.podIP;
    expect(await box.shell("again", `${addresses}; cat /log`)).toBe(`${address}\n${address}\n${address}`);
    await box.remove("again");
  });

  test("/tmp is on disk: it survives a restart, and has sockets, pipes and files of all users", async () => {
    const ends = `echo x >>/tmp/log; [ $(wc -l </tmp/log) -gt 1 ] || exit 1; ${stay}`;
    await box.create("temporary", { spec: { containers: [script("main", ends)] } });
    await box.api.until("temporary", (one) => statusOf(one)?.restartCount === 1 && isReady(one));
    expect(await box.shell("temporary", "cat /tmp/log; stat -c %a /tmp; grep -c ' /tmp ' /proc/mounts")).toBe(
      "x\nx\n1777\n0",
    );
    const socket =
      "import socket, os; s = socket.socket(socket.AF_UNIX); s.bind('/tmp/s'); s.listen(); c = socket.socket(socket.AF_UNIX); c.connect('/tmp/s'); a, _ = s.accept(); c.send(b'sent'); print(a.recv(9))";
    expect(await box.shell("temporary", `python3 -c "${socket}"`)).toBe("b'sent'");
    expect(await box.shell("temporary", "mkfifo /tmp/f; echo piped >/tmp/f & cat /tmp/f")).toBe("piped");
    await box.remove("temporary");
  });

  test("/tmp is memory where the Pod mounts it, and where the root filesystem is read-only", async () => {
    const volumes = [{ name: "tmp", emptyDir: { medium: "Memory", sizeLimit: "1Mi" } }];
    const mounted = script("mounted", stay, { volumeMounts: [{ name: "tmp", mountPath: "/tmp" }] });
    const fixed = script("fixed", stay, { securityContext: { readOnlyRootFilesystem: true } });
    await box.create("memory-tmp", { spec: { volumes, containers: [mounted, fixed] } });
    await box.api.until("memory-tmp", isReady);
    for (const name of ["mounted", "fixed"]) {
      expect(await box.shell("memory-tmp", "echo x >/tmp/x; cat /tmp/x; grep -c ' /tmp ' /proc/mounts", name)).toBe(
        "x\n1",
      );
    }
    await box.remove("memory-tmp");
  });

  test("one of several containers restarts without affecting the others", async () => {
    await box.create("pair", {
      spec: {
        containers: [
          script("stays", stay),
          script("ends", `echo x >>/log; [ $(wc -l </log) -gt 1 ] || exit 5; ${stay}`),
        ],
      },
    });
    const pod = await box.api.until("pair", (one) => statusOf(one, "ends")?.restartCount === 1 && isReady(one));
    expect(statusOf(pod, "stays")?.restartCount).toBe(0);
    expect(statusOf(pod, "ends")?.lastState?.terminated).toMatchObject({ exitCode: 5, reason: "Error" });
    expect(await box.shell("pair", addresses, "ends")).toBe(pod.status?.podIP);
    await box.remove("pair", 5);
    expect(await findTraces(box.dataDir)).toEqual(noTraces);
  });

  test("a port is forwarded several times at once, and a closed port is an error", async () => {
    const server =
      "import socket; s=socket.create_server(('0.0.0.0',80)); print('up', flush=True)\nwhile True: c,_=s.accept(); c.send(c.recv(9)); c.close()";
    await box.create("ports", {
      spec: { containers: [{ name: "main", image: "host", command: ["python3", "-c", server] }] },
    });
    await box.api.until("ports", isReady);
    const log = await box.node.podStreams.logs({
      namespace,
      pod: "ports",
      follow: true,
      previous: false,
      timestamps: false,
    });
    for await (const chunk of log) if (String(chunk).includes("up")) break;
    const echo = async (word: string): Promise<string> => {
      const socket = await box.node.podStreams.portForward({ namespace, pod: "ports", port: 80 });
      socket.write(word);
      return text(socket);
    };
    expect(await Promise.all(["one", "two", "three"].map(echo))).toEqual(["one", "two", "three"]);
    await expect(box.node.podStreams.portForward({ namespace, pod: "ports", port: 81 })).rejects.toThrow(
      'Cannot connect to port 81 of Pod "default/ports"',
    );
    await box.remove("ports", 0);
  });

  test("a container that runs out of memory is OOMKilled", async () => {
    await box.create("memory", {
      spec: {
        restartPolicy: "Never",
        containers: [
          script("main", "python3 -c 'b = bytearray(10**9); [b.__setitem__(i, 1) for i in range(0, 10**9, 4096)]'", {
            resources: { limits: { memory: "200Mi" } },
          }),
        ],
      },
    });
    const pod = await box.api.until("memory", hasPhase("Failed"));
    expect(statusOf(pod)?.state?.terminated).toMatchObject({ reason: "OOMKilled", exitCode: 137 });
    await box.remove("memory");
  });

  test.for([false, true])(
    "a command that uses too much memory exits with 137 and says why (terminal: %s)",
    async (tty) => {
      const memory = { resources: { limits: { memory: "200Mi" } } };
      await box.create("greedy", { spec: { restartPolicy: "Never", containers: [script("main", stay, memory)] } });
      await box.api.until("greedy", isReady);
      const command = ["python3", "-c", "b = bytearray(10**9); [b.__setitem__(i, 1) for i in range(0, 10**9, 4096)]"];
      const session = await box.node.podStreams.exec({ namespace, pod: "greedy", command, tty, stdin: false });
      const [stdout, stderr, exit] = await Promise.all([text(session.stdout), text(session.stderr), session.exit]);
      const said = "The sandbox ran out of memory and was killed";
      expect([stdout, stderr, exit]).toEqual(
        tty ? [`${said}\r\n`, "", { code: 137 }] : ["", `${said}\n`, { code: 137 }],
      );
      await box.remove("greedy", 0);
    },
  );
});

test("a restarted node finds its sandboxes running and can stop them", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "gvisor-again-"));
  const api = openTestApi();
  const start = () => createNode({ client: api.client, nodeName, dataDir, defaultRuntime: "gvisor" });
  const before = await start();
  await api.create("kept", { containers: [script("one", stay), script("two", stay)] });
  await api.until("kept", isReady);
  await before.stop();
  await using node = await start();
  await node.ready;
  const session = await node.podStreams.exec({
    namespace,
    pod: "kept",
    container: "two",
    command: ["cat", "/proc/1/cmdline"],
    tty: false,
    stdin: false,
  });
  expect(await text(session.stdout)).toContain("sleep 3600");
  expect(api.read("kept")?.status?.containerStatuses?.map(({ restartCount }) => restartCount)).toEqual([0, 0]);
  await api.client.delete(pods, { namespace, name: "kept" }, { gracePeriodSeconds: 5 });
  await api.until("kept", isGone);
  expect(await findTraces(dataDir)).toEqual(noTraces);
  await node.teardown();
  expect(await findShared(dataDir)).toEqual([]);
  await rm(dataDir, { recursive: true, force: true });
});

function shared(mountPath: string): Partial<Container> {
  return { volumeMounts: [{ name: "shared", mountPath }] };
}
