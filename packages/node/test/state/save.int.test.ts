import { readFileSync, watch } from "node:fs";
import { mkdir } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import type { Pod } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { layoutOf, podPaths } from "../../src/layout.ts";
import type { PodRecord } from "../../src/pod/record.ts";
import { processStart } from "../../src/system/processes.ts";
import { cannotRun } from "../../src/testing/runtimes.ts";
import { isReady, namespace } from "../../src/testing/test-api.ts";
import { openTestBox, type TestBox } from "../../src/testing/test-box.ts";
import { counter } from "./counter.ts";
import { answerOf, conditionOf, imagesIn, makeSandbox, requestSave } from "./saved-pods.ts";

const countingIn = (file: string): string[] => counter(`echo $i; echo $i > ${file}`);

/** A process that is starting another one looks as if it were paused. */
const forking = "i=0; while :; do i=$((i+1)); echo $i; echo $i > /dev/shm/count; /bin/true; done";

const echoServer = `
import socket
server = socket.create_server(("", 7000))
while True:
    peer, _ = server.accept()
    while data := peer.recv(65536):
        peer.sendall(data)
`;

const openFiles = `
import os, time
log = open("/log", "w", buffering=1)
gone = open("/gone", "w+"); os.remove("/gone"); gone.write("still here"); gone.flush()
disk = open("/disk/log", "w", buffering=1)
count = 0
while True:
    count += 1
    print(count, file=log); print(count, file=disk)
    gone.seek(0); open("/memory/now", "w").write(f"{count} {gone.read()}")
    time.sleep(0.02)
`;

describe.skipIf(cannotRun)("saving and restoring a Pod", { concurrent: true }, () => {
  let box: TestBox;

  beforeAll(async () => {
    box = await openTestBox();
  });
  afterAll(() => box[Symbol.asyncDispose]());

  const logged = async (pod: string, container?: string): Promise<number[]> =>
    ((await box.log(pod, container)).match(/\d+/g) ?? []).map(Number);

  /** Describes the first number that is not one more than the one before. */
  const gapIn = (numbers: readonly number[]): string | undefined => {
    const index = numbers.findIndex((one, place) => one !== place + 1);
    return index < 0 ? undefined : `${numbers.slice(index - 2, index + 3).join()} at ${index} of ${numbers.length}`;
  };

  test("a counter in memory continues in the next Pod", async () => {
    const containers = [{ name: "main", image: "host", command: ["sh", "-c", forking] }];
    const sandbox = await makeSandbox(box, "counter", { containers });
    const started = await sandbox.start();
    expect(answerOf(started, "agents.x-k8s.io/Saveable")).toBe("True");
    const saved = await sandbox.save();
    expect(conditionOf(saved, "agents.x-k8s.io/Saved")).toMatchObject({
      status: "True",
      message: expect.stringMatching(/^\d+ bytes$/),
    });
    expect(answerOf(saved, "Ready")).toBe("Suspending");
    expect(saved.status?.phase).toBe("Running");
    await expect(box.shell("counter", "true")).rejects.toThrow("it is being suspended");
    const pid = pidOf(box, saved.metadata?.uid);
    await expect.poll(() => processStart(pid), { timeout: 30_000 }).toBeUndefined();
    const before = await logged("counter");
    await sandbox.remove();
    const restored = await sandbox.restore();
    const { status, message } = conditionOf(restored, "PodRestored") ?? {};
    expect({ status, message }).toEqual({ status: "True", message: "restored from suspension/0" });
    expect(await imagesIn(box, sandbox.uid)).toEqual([]);
    const identity = await box.shell("counter", "cat /run/agent-sandbox/environment; hostname");
    expect(identity.split("\n")).toEqual([
      "SANDBOX_NAME=counter",
      "SANDBOX_NAMESPACE=default",
      `SANDBOX_UID=${sandbox.uid}`,
      "SANDBOX_EPOCH=1",
      "counter",
    ]);
    const all = [...before, ...(await logged("counter"))];
    expect(all.length).toBeGreaterThan(before.length);
    expect(gapIn(all)).toBeUndefined();
    // A second time, now from the restored Pod.
    expect(answerOf(await sandbox.save(1), "agents.x-k8s.io/Saved")).toBe("True");
    await sandbox.remove();
    expect(answerOf(await sandbox.restore(1), "PodRestored")).toBe("True");
    await sandbox.remove();
  });

  test("an open connection loses and repeats no byte", async () => {
    const containers = [{ name: "main", image: "host", command: ["python3", "-c", echoServer] }];
    const readiness = { readinessProbe: { tcpSocket: { port: 7000 }, periodSeconds: 1 } };
    const sandbox = await makeSandbox(box, "echo", { containers: [{ ...containers[0], name: "main", ...readiness }] });
    const { status } = await sandbox.start();
    const socket = connect(7000, status?.podIP ?? "");
    let received = Buffer.alloc(0);
    socket.on("data", (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
    });
    let sent = 0;
    const sending = setInterval(() => socket.write(`${(sent += 1)}\n`), 3);
    await sleep(100);
    expect(answerOf(await sandbox.save(), "agents.x-k8s.io/Saved")).toBe("True");
    await sandbox.remove();
    await sleep(300);
    expect(answerOf(await sandbox.restore(), "PodRestored")).toBe("True");
    clearInterval(sending);
    const lines = (): string[] => received.toString().trim().split("\n");
    while (lines().length < sent) await sleep(20);
    socket.destroy();
    expect(gapIn(lines().map(Number))).toBeUndefined();
    const again = connect(7000, status?.podIP ?? "");
    again.write("new");
    expect(String(await new Promise((resolve) => again.once("data", resolve)))).toBe("new");
    again.destroy();
  });

  test("several containers, a sidecar and a finished init container", async () => {
    const spec: NonNullable<Pod["spec"]> = {
      initContainers: [
        {
          name: "prepare",
          image: "host",
          command: ["sh", "-c", "echo once >> /shared/prepared"],
          volumeMounts: shared,
        },
        { name: "side", image: "host", restartPolicy: "Always", command: countingIn("/dev/shm/side") },
      ],
      containers: [
        { name: "first", image: "host", command: countingIn("/dev/shm/first"), volumeMounts: shared },
        { name: "second", image: "host", command: countingIn("/shared/second"), volumeMounts: shared },
      ],
      volumes: [{ name: "shared", emptyDir: {} }],
    };
    const sandbox = await makeSandbox(box, "several", spec);
    await sandbox.start();
    expect(answerOf(await sandbox.save(), "agents.x-k8s.io/Saved")).toBe("True");
    const names = ["side", "first", "second"];
    const before = await Promise.all(names.map((name) => logged("several", name)));
    await sandbox.remove();
    const restored = await sandbox.restore();
    expect(conditionOf(restored, "PodRestored")?.message).toBe("restored from suspension/0");
    expect(restored.status?.initContainerStatuses?.[0]?.state?.terminated?.exitCode).toBe(0);
    for (const [index, name] of names.entries()) {
      while ((await logged("several", name)).length < 3) await sleep(20);
      expect(gapIn([...(before[index] ?? []), ...(await logged("several", name))])).toBeUndefined();
    }
    expect(await box.shell("several", "cat /shared/prepared", "first")).toBe("once");
    const counts = restored.status?.containerStatuses?.map(({ restartCount }) => restartCount);
    expect(counts).toEqual([0, 0]);
    // The restored containers are watched like others: one that ends is started again.
    await box.shell("several", "kill -9 1", "second");
    await box.api.until("several", (pod) =>
      (pod?.status?.containerStatuses ?? []).some(({ name, restartCount }) => name === "second" && restartCount === 1),
    );
    await sandbox.remove();
  });

  test("files that are open, and volumes that would be removed with the Pod", async () => {
    const mounts = ["disk", "memory"].map((name) => ({ name, mountPath: `/${name}` }));
    const sandbox = await makeSandbox(box, "files", {
      containers: [{ name: "main", image: "host", command: ["python3", "-c", openFiles], volumeMounts: mounts }],
      volumes: [
        { name: "disk", emptyDir: {} },
        { name: "memory", emptyDir: { medium: "Memory" } },
      ],
    });
    await sandbox.start();
    while (Number((await box.shell("files", "cat /memory/now || true")).split(" ")[0]) < 3) await sleep(20);
    expect(answerOf(await sandbox.save(), "agents.x-k8s.io/Saved")).toBe("True");
    await sandbox.remove();
    const restored = await sandbox.restore();
    expect(conditionOf(restored, "PodRestored")?.message).toBe("restored from suspension/0");
    const count = async (): Promise<number> => Number((await box.shell("files", "cat /memory/now")).split(" ")[0]);
    const first = await count();
    while ((await count()) < first + 3) await sleep(20);
    // The file is empty for a moment each time that it is written.
    await expect.poll(() => box.shell("files", "cat /memory/now"), { timeout: 30_000 }).toMatch(/^\d+ still here$/);
    for (const file of ["/log", "/disk/log"]) {
      expect(gapIn((await box.shell("files", `cat ${file}`)).split("\n").map(Number))).toBeUndefined();
    }
  });

  test("probes do not restart a container because of the time it slept", async () => {
    const probe = { exec: { command: ["true"] }, periodSeconds: 1, failureThreshold: 1, timeoutSeconds: 5 };
    const sandbox = await makeSandbox(box, "probed", {
      containers: [
        { name: "main", image: "host", command: ["sleep", "infinity"], livenessProbe: probe, readinessProbe: probe },
      ],
    });
    await sandbox.start();
    expect(answerOf(await sandbox.save(), "agents.x-k8s.io/Saved")).toBe("True");
    await sleep(3000);
    await sandbox.remove();
    const restored = await sandbox.restore();
    expect(conditionOf(restored, "PodRestored")?.message).toBe("restored from suspension/0");
    await sleep(2500);
    expect(box.api.read("probed")?.status?.containerStatuses?.[0]).toMatchObject({ restartCount: 0, ready: true });
  });

  test("sessions that are open during the save end with the reason", async () => {
    const main = { name: "main", image: "host", command: ["cat"], stdin: true, tty: true };
    const sandbox = await makeSandbox(box, "session", { containers: [main] });
    await sandbox.start();
    const place = { namespace, pod: "session" };
    const { podStreams } = box.node;
    const sessions = await Promise.all([
      podStreams.exec({ ...place, command: ["sleep", "1000"], tty: false, stdin: false }),
      podStreams.exec({ ...place, command: ["cat"], tty: true, stdin: true }),
      podStreams.attach({ ...place, tty: false, stdin: false }),
      podStreams.attach({ ...place, tty: true, stdin: true }),
    ]);
    const ended = sessions.map(async ({ stdout, stderr, exit }) => {
      stdout.resume();
      stderr.resume();
      return String(await exit.catch((error: unknown) => error));
    });
    expect(answerOf(await sandbox.save(), "agents.x-k8s.io/Saved")).toBe("True");
    const reason = expect.stringContaining("The session has ended: the Pod was suspended") as string;
    expect(await Promise.all(ended)).toEqual([reason, reason, reason, reason]);
    await expect(podStreams.attach({ ...place, tty: true, stdin: true })).rejects.toThrow("it is being suspended");
  });

  test("a program that still holds the terminal of a session is no obstacle", async () => {
    const main = { name: "main", image: "host", command: ["sleep", "1000000"] };
    const sandbox = await makeSandbox(box, "holder", { containers: [main] });
    await sandbox.start();
    const command = ["sh", "-c", "setsid sleep 4141 & sleep 0.1; tty"];
    const session = await box.node.podStreams.exec({ namespace, pod: "holder", command, tty: true, stdin: false });
    expect((await Promise.all([text(session.stdout), session.exit]))[0]).toMatch(/^\/dev\/pts\/\d+\r\n$/);
    expect(await box.shell("holder", "cd /dev/pts; echo *[0-9]*")).toMatch(/^\d+$/);
    expect(answerOf(await sandbox.save(), "agents.x-k8s.io/Saved")).toBe("True");
    await sandbox.remove();
    const restored = await sandbox.restore();
    expect(conditionOf(restored, "PodRestored")?.message).toBe("restored from suspension/0");
    // gVisor ends the commands of sessions when it restores.
    expect(await box.shell("holder", "cd /dev/pts; echo *[0-9]*")).toBe("*[0-9]*");
  });

  test("a runtime that cannot save says so, and the Pod continues", async () => {
    const sandbox = await makeSandbox(box, "runc", { runtimeClassName: "runc" });
    expect(answerOf(await sandbox.start(), "agents.x-k8s.io/Saveable")).toBe("RuntimeCannotSave");
    expect(answerOf(await sandbox.save(), "agents.x-k8s.io/Saved")).toBe("RuntimeCannotSave");
    expect(await box.shell("runc", "echo here")).toBe("here");
  });

  test("a Pod that no Sandbox controls is not saved", async () => {
    await box.create("alone", { metadata: { annotations: { "agents.x-k8s.io/keep-rootfs": "somebody" } } });
    await box.api.until("alone", isReady);
    await requestSave(box, "alone", 0);
    const pod = await box.api.until("alone", (one) => conditionOf(one, "agents.x-k8s.io/Saved") !== undefined);
    expect(answerOf(pod, "agents.x-k8s.io/Saved")).toBe("SaveFailed");
  });

  test("a Pod that is deleted during its save ends, and no image is left", async () => {
    const sandbox = await makeSandbox(box, "deleted", {});
    await sandbox.start();
    await requestSave(box, "deleted", 0);
    await sandbox.remove();
    expect(await imagesIn(box, sandbox.uid)).toEqual([]);
  });

  test("a Pod whose sandbox is killed during its save is started again, and no image is left", async () => {
    const sandbox = await makeSandbox(box, "shot", {});
    const { metadata } = await sandbox.start();
    const images = join(layoutOf(box.dataDir).stateDir, "suspensions", sandbox.uid);
    await mkdir(images, { recursive: true });
    const pid = pidOf(box, metadata?.uid);
    // The first change in the folder is the partial image: the sandbox is not saved yet.
    const watcher = watch(images).once("change", () => process.kill(pid, 9));
    const answer = answerOf(await sandbox.save(), "agents.x-k8s.io/Saved");
    watcher.close();
    expect(answer).toBeOneOf(["SaveFailed", "SourceNotRunning"]);
    const pod = await box.api.until("shot", (one) => isReady(one) && restartsOf(one) === 1);
    expect(isReady(pod)).toBe(true);
    expect(await box.shell("shot", "echo here")).toBe("here");
    expect(await imagesIn(box, sandbox.uid)).toEqual([]);
  });

  test("a Pod whose save is withdrawn serves again", async () => {
    const sandbox = await makeSandbox(box, "withdrawn", {});
    await sandbox.start();
    await requestSave(box, "withdrawn", 0);
    await box.api.until("withdrawn", (pod) => !isReady(pod));
    await requestSave(box, "withdrawn", null);
    const pod = await box.api.until(
      "withdrawn",
      (one) => isReady(one) || conditionOf(one, "agents.x-k8s.io/Saved")?.status === "True",
    );
    // The image may have been complete before the request was withdrawn.
    const answer = isReady(pod) ? box.shell("withdrawn", "echo here") : imagesIn(box, sandbox.uid);
    expect(await answer).toEqual(isReady(pod) ? "here" : ["0"]);
  });
});

/** The first process of the container "main". */
function pidOf({ dataDir }: TestBox, uid = ""): number {
  const record = JSON.parse(readFileSync(podPaths(layoutOf(dataDir), uid).record, "utf8")) as PodRecord;
  const pid = record.containers["main"]?.run?.process.pid;
  if (pid === undefined) throw new Error(`Cannot find the process of the Pod "${uid}"`);
  return pid;
}

const restartsOf = (pod: Pod | undefined): number | undefined => pod?.status?.containerStatuses?.[0]?.restartCount;

const shared = [{ name: "shared", mountPath: "/shared" }];
