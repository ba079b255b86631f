import { text } from "node:stream/consumers";
import { finished } from "node:stream/promises";
import type { Container, Pod, PodSpec } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pods } from "../../src/resources.ts";
import { cannotRun, testedRuntimes } from "../../src/testing/runtimes.ts";
import { isReady, namespace } from "../../src/testing/test-api.ts";
import { isOver, openTestBox, slug, soon, statusOf, type TestBox } from "../../src/testing/test-box.ts";

const idle = 'trap "exit 0" TERM; sleep 1000 & wait';
const volumes = [{ name: "v", emptyDir: {} }];
const volumeMounts = [{ name: "v", mountPath: "/v" }];
const waitsFor =
  (reason: string, container?: string) =>
  (pod: Pod | undefined): boolean =>
    statusOf(pod, container)?.state?.waiting?.reason === reason;

describe.skipIf(cannotRun).each(testedRuntimes)("the lifecycle of a Pod with %s", (runtimeClassName) => {
  let box: TestBox;
  beforeAll(async () => {
    // Long enough that a slow machine reports the back-off before it has passed.
    box = await openTestBox({ backoff: { firstMs: 4000, longestMs: 4000, forgetAfterMs: 600_000 } });
  });
  afterAll(() => box[Symbol.asyncDispose]());

  const start = (
    name: string,
    script: string,
    main: Partial<Container> = {},
    spec: Partial<PodSpec> = {},
  ): Promise<void> => {
    const container: Container = { name: "main", image: "host", command: ["sh", "-c", script], ...main };
    return box.create(name, { spec: { runtimeClassName, containers: [container], ...spec } });
  };

  test.concurrent.for([
    ["Always", "exit 0", 2],
    ["Always", "exit 1", 2],
    ["OnFailure", "exit 1", 2],
  ] as const)("%s: `%s` restarts with back-off", async ([restartPolicy, script, count], { expect }) => {
    const name = `again-${restartPolicy.toLowerCase()}-${script.at(-1)}`;
    await start(name, script, {}, { restartPolicy });
    const pod = await box.api.until(
      name,
      (one) => waitsFor("CrashLoopBackOff")(one) && statusOf(one)?.restartCount === count - 1,
    );
    expect([pod.status?.phase, statusOf(pod)?.lastState?.terminated?.exitCode, statusOf(pod)?.ready]).toEqual([
      "Running",
      Number(script.at(-1)),
      false,
    ]);
    expect(statusOf(pod)?.state?.waiting?.message).toMatch(/^back-off 4s restarting failed container=main pod=/);
    await box.api.until(name, (one) => (statusOf(one)?.restartCount ?? 0) >= count);
    await expect
      .poll(() => box.events(name).join("\n"), soon)
      .toMatch(/BackOff: Back-off restarting failed container main in pod/);
    await box.remove(name);
  });

  test.concurrent.for([
    ["OnFailure", 0, "Succeeded", "Completed"],
    ["Never", 0, "Succeeded", "Completed"],
    ["Never", 7, "Failed", "Error"],
  ] as const)(
    "%s: a container with exit code %d is never ready and not restarted: %s",
    async ([restartPolicy, code, phase, reason], { expect }) => {
      const name = `end-${restartPolicy.toLowerCase()}-${code}`;
      let wasReady = false;
      const over = box.api.until(name, (one) => {
        wasReady ||= isReady(one);
        return isOver(one);
      });
      await start(name, `exit ${code}`, {}, { restartPolicy });
      const pod = await over;
      expect(wasReady).toBe(false);
      expect([pod.status?.phase, statusOf(pod)?.state?.terminated?.reason, statusOf(pod)?.restartCount]).toEqual([
        phase,
        reason,
        0,
      ]);
      await box.remove(name);
    },
  );

  test("has the kubelet's events", async () => {
    await start("story", idle);
    await box.api.until("story", isReady);
    await box.remove("story", 2);
    await expect
      .poll(() => box.events("story"), soon)
      .toEqual([
        "Scheduled: Successfully assigned default/story to box",
        'Pulled: Container image "host" already present on machine',
        "Created: Created container: main",
        "Started: Started container main",
        "Killing: Stopping container main",
      ]);
  });

  test("the log of the previous run can be read", async () => {
    await start(
      "twice",
      '[ -e /root/x ] && { echo second; trap "exit 0" TERM; sleep 1000 & wait; }; touch /root/x; echo first; exit 1',
    );
    await box.api.until("twice", (one) => isReady(one) && statusOf(one)?.restartCount === 1);
    expect([await box.log("twice", "main", true), await box.log("twice")]).toEqual([
      "first\n",
      expect.stringMatching(/^(second\n)?$/),
    ]);
    await box.remove("twice");
  });

  test.concurrent.for([
    ["the default file", "echo -n farewell > /dev/termination-log; exit 1", {}, "farewell"],
    [
      "the file at terminationMessagePath",
      "echo -n bye > /tmp/last; exit 0",
      { terminationMessagePath: "/tmp/last" },
      "bye",
    ],
    [
      "the end of the log with FallbackToLogsOnError after a failure",
      "echo one; echo two; exit 1",
      { terminationMessagePolicy: "FallbackToLogsOnError" },
      "one\ntwo\n",
    ],
    [
      "no log with FallbackToLogsOnError after success",
      "echo one; exit 0",
      { terminationMessagePolicy: "FallbackToLogsOnError" },
      undefined,
    ],
    [
      "at most 4096 bytes",
      "head -c 100000 /dev/zero | tr '\\0' x > /dev/termination-log; exit 1",
      {},
      "x".repeat(4096),
    ],
  ] as const)("termination message: %s", async ([what, script, main, message], { expect }) => {
    const name = `message-${slug(what)}`;
    await start(name, script, main, { restartPolicy: "Never" });
    const pod = await box.api.until(name, isOver);
    expect(statusOf(pod)?.state?.terminated?.message).toBe(message);
    await box.remove(name);
  });

  test("activeDeadlineSeconds ends a Pod", async () => {
    await start("deadline", idle, {}, { activeDeadlineSeconds: 1 });
    const pod = await box.api.until("deadline", isOver);
    expect(pod.status).toMatchObject({
      phase: "Failed",
      reason: "DeadlineExceeded",
      message: "Pod was active on the node longer than the specified deadline",
    });
    expect(statusOf(pod)?.state?.terminated).toBeDefined();
    await box.remove("deadline");
  });

  test("a failed image pull is retried with back-off", async () => {
    await start("imageless", "", { image: "nowhere.invalid/none:1" });
    const first = await box.api.until("imageless", waitsFor("ErrImagePull"));
    expect(first.status?.phase).toBe("Pending");
    await box.api.until("imageless", waitsFor("ImagePullBackOff"));
    await expect
      .poll(() => box.events("imageless").join("\n"), soon)
      .toMatch(/Failed: Failed to pull image "nowhere.invalid\/none:1": /);
    await box.remove("imageless");
  });

  test("an image with the pull policy Never is not pulled", async () => {
    await start("never-pulled", "", { image: "nowhere.invalid/none:1", imagePullPolicy: "Never" });
    const pod = await box.api.until("never-pulled", waitsFor("ErrImageNeverPull"));
    expect(pod.status?.phase).toBe("Pending");
    await box.remove("never-pulled");
  });

  test("a missing program is reported", async () => {
    await start("typo", "", { command: ["/no/such/program"] });
    const pod = await box.api.until("typo", (one) => statusOf(one)?.state?.waiting?.message !== undefined);
    expect(statusOf(pod)?.state?.waiting?.message).toContain("/no/such/program");
    await box.remove("typo");
  });

  test("postStart ends before the next container starts", async () => {
    const lifecycle = { postStart: { exec: { command: ["sh", "-c", "sleep 0.4; echo hook >> /v/log"] } } };
    const main: Container = { name: "main", image: "host", command: ["sh", "-c", idle], lifecycle, volumeMounts };
    const next: Container = {
      name: "next",
      image: "host",
      command: ["sh", "-c", `echo next >> /v/log; ${idle}`],
      volumeMounts,
    };
    await box.create("hooked", { spec: { runtimeClassName, volumes, containers: [main, next] } });
    await box.api.until("hooked", isReady);
    await expect.poll(() => box.shell("hooked", "cat /v/log"), soon).toBe("hook\nnext");
    await box.remove("hooked");
  });

  test("a failed postStart hook restarts the container", async () => {
    const lifecycle = { postStart: { exec: { command: ["sh", "-c", "echo broken hook >&2; exit 3"] } } };
    await start("bad-hook", idle, { lifecycle }, { terminationGracePeriodSeconds: 1 });
    await box.api.until("bad-hook", (one) => (statusOf(one)?.restartCount ?? 0) >= 1);
    await expect
      .poll(() => box.events("bad-hook").join("\n"), soon)
      .toMatch(/FailedPostStartHook: PostStartHook failed: command ended with exit code 3: broken hook/);
    await box.remove("bad-hook");
  });

  /** Waits until the container prints "up", deletes the Pod, and returns what the container printed after that. */
  async function outputAfterDelete(name: string): Promise<string> {
    await box.api.until(name, isReady);
    const log = await box.node.podStreams.logs({
      namespace,
      pod: name,
      follow: true,
      previous: false,
      timestamps: false,
    });
    const end = Promise.withResolvers<void>();
    let output = "";
    log.setEncoding("utf8").on("data", (chunk: string) => {
      if (output === "") box.remove(name, 20).then(end.resolve, end.reject);
      output += chunk;
    });
    await Promise.all([finished(log), end.promise]);
    return output.replace("up\n", "");
  }

  test.concurrent.for([
    ["exec", { exec: { command: ["sh", "-c", "echo hook >> /v/log"] } }, "hook\nterm\n"],
    ["sleep", { sleep: { seconds: 1 } }, "term\n"],
    ["a hook that fails", { exec: { command: ["false"] } }, "term\n"],
  ] as const)("preStop runs before the stop signal: %s", async ([what, preStop, order], { expect }) => {
    const name = `prestop-${slug(what)}`;
    const script = 'trap "echo term >> /v/log; cat /v/log; exit 0" TERM; echo up; while :; do sleep 0.05; done';
    const lifecycle = { preStop: preStop as NonNullable<Container["lifecycle"]>["preStop"] & object };
    await start(name, script, { lifecycle, volumeMounts }, { volumes });
    expect(await outputAfterDelete(name)).toBe(order);
  });

  test("preStop can be an HTTP request", async () => {
    const server = `
import http.server, signal, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self): print("asked for", self.path, flush=True); self.send_response(200); self.end_headers()
    def log_message(self, *args): pass
signal.signal(signal.SIGTERM, lambda *a: (print("term", flush=True), sys.exit(0)))
http.server.HTTPServer(("0.0.0.0", 8080), Handler).serve_forever()
`;
    const command = ["python3", "-c", server];
    const lifecycle = { preStop: { httpGet: { port: "web", path: "/bye" } } };
    const ports = [{ name: "web", containerPort: 8080 }];
    const readinessProbe = { tcpSocket: { port: 8080 }, periodSeconds: 1 };
    await start("asked", "", { command, ports, lifecycle, readinessProbe }, { restartPolicy: "Never" });
    await box.api.until("asked", isReady);
    const log = await box.node.podStreams.logs({
      namespace,
      pod: "asked",
      follow: true,
      previous: false,
      timestamps: false,
    });
    const [said] = await Promise.all([text(log), box.remove("asked", 20)]);
    expect(said).toBe("asked for /bye\nterm\n");
  });

  test("a preStop hook is limited by the grace period", async () => {
    await start("stuck", idle, { lifecycle: { preStop: { exec: { command: ["sleep", "1000"] } } } });
    await box.api.until("stuck", isReady);
    await box.remove("stuck", 1);
    await expect.poll(() => box.events("stuck"), soon).toContain("Killing: Stopping container main");
  });

  test("lifecycle.stopSignal replaces SIGTERM", async () => {
    const script = 'trap "echo stopped by USR1; exit 0" USR1; trap "" TERM; echo up; while :; do sleep 0.05; done';
    const lifecycle = { stopSignal: "SIGUSR1" } as Container["lifecycle"] & object;
    await start("usr1", script, { lifecycle });
    expect(await outputAfterDelete("usr1")).toBe("stopped by USR1\n");
  });

  test("a second delete can shorten the grace period", async () => {
    await start("hurry", "trap '' TERM; sleep 1000");
    await box.api.until("hurry", isReady);
    await box.api.client.delete(pods, { namespace, name: "hurry" }, { gracePeriodSeconds: 600 });
    await expect.poll(() => box.events("hurry"), soon).toContain("Killing: Stopping container main");
    await box.remove("hurry", 1);
  });

  test("readiness gates delay readiness", async () => {
    await start("gated", idle, {}, { readinessGates: [{ conditionType: "example.com/ready" }] });
    const pod = await box.api.until("gated", (one) => {
      expect(isReady(one)).toBe(false);
      return one?.status?.conditions?.some(({ reason }) => reason === "ReadinessGatesNotReady") === true;
    });
    const conditions = [...(pod.status?.conditions ?? []), { type: "example.com/ready", status: "True" }];
    await box.api.client.patch(
      pods,
      { namespace, name: "gated" },
      { type: "merge", body: { status: { conditions } } },
      { subresource: "status" },
    );
    await box.api.until("gated", isReady);
    await box.remove("gated");
  });

  test("an unsupported field is refused in the status and in an event", async () => {
    await start("refused", idle, { volumeDevices: [{ name: "d", devicePath: "/dev/sda" }] });
    const pod = await box.api.until("refused", waitsFor("CreateContainerConfigError"));
    expect(statusOf(pod)?.state?.waiting?.message).toBe(
      'Cannot run Pod "default/refused": spec.containers[0].volumeDevices: is not supported by this node',
    );
    await expect
      .poll(() => box.events("refused"), soon)
      .toEqual([
        expect.stringMatching(/^Failed: Cannot run Pod "default\/refused": spec.containers\[0\].volumeDevices/),
      ]);
    await box.remove("refused");
  });
});
