import type { Container, Pod } from "@agent-sandbox/api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cannotRun, testedRuntimes } from "../../src/testing/runtimes.ts";
import { isReady } from "../../src/testing/test-api.ts";
import { hasPhase, isOver, openTestBox, soon, statusOf, type TestBox } from "../../src/testing/test-box.ts";
import { findTraces, noTraces } from "../../src/testing/traces.ts";

const container = (name: string, script: string, more: Partial<Container> = {}): Container => ({
  name,
  image: "host",
  command: ["sh", "-c", script],
  ...more,
});
const idle = 'trap "exit 0" TERM; sleep 1000 & wait';
const volumes = [{ name: "v", emptyDir: {} }];
const volumeMounts = [{ name: "v", mountPath: "/v" }];
const conditionOf = (pod: Pod | undefined, type: string): string | undefined =>
  pod?.status?.conditions?.find((one) => one.type === type)?.status;

describe.skipIf(cannotRun).each(testedRuntimes)("several containers with %s", (runtimeClassName) => {
  let box: TestBox;
  beforeAll(async () => {
    box = await openTestBox({ backoff: { firstMs: 200, longestMs: 400, forgetAfterMs: 600_000 } });
  });
  afterAll(() => box[Symbol.asyncDispose]());

  test("share network and host name, and have their own files and processes", async () => {
    const server =
      "import http.server as h; h.HTTPServer(('127.0.0.1', 8080), h.SimpleHTTPRequestHandler).serve_forever()";
    const containers = [container("a", "", { command: ["python3", "-c", server] }), container("b", idle)];
    await box.create("pair", { spec: { runtimeClassName, hostname: "pair", containers } });
    await box.api.until("pair", isReady);
    const ask = "python3 -c \"import urllib.request as u; print(u.urlopen('http://127.0.0.1:8080').status)\"";
    await expect.poll(() => box.shell("pair", ask, "b"), soon).toBe("200");
    expect(await box.shell("pair", "hostname; touch /root/a; ps ax | grep -c '[t]rap'", "a")).toBe("pair\n0");
    expect(await box.shell("pair", "hostname; ls /root", "b")).toBe("pair");
    const address = await box.shell("pair", "hostname -i", "a");
    expect(await box.shell("pair", "hostname -i", "b")).toBe(address);
    await box.remove("pair");
  });

  test("share processes with shareProcessNamespace", async () => {
    const containers = [
      container("a", `exec -a marker sleep 1000`, { command: ["bash", "-c", "exec -a marker sleep 1000"] }),
      container("b", idle),
    ];
    await box.create("pids", { spec: { runtimeClassName, shareProcessNamespace: true, containers } });
    await box.api.until("pids", isReady);
    expect(await box.shell("pids", "ps ax | grep -c '[m]arker'", "b")).toBe("1");
    expect(
      await box.shell("pids", "ps -o pid= -C sh | head -1 | tr -d ' '; test -d /proc/1 && echo init", "b"),
    ).toMatch(/init$/);
    await box.remove("pids");
  });

  test("init containers run one after the other before the main containers", async () => {
    const initContainers = ["one", "two", "three"].map((name) =>
      container(name, `echo ${name} >> /v/order`, { volumeMounts }),
    );
    await box.create("inits", {
      spec: {
        runtimeClassName,
        restartPolicy: "Never",
        volumes,
        initContainers,
        containers: [container("main", "cat /v/order", { volumeMounts })],
      },
    });
    const pod = await box.api.until("inits", isOver);
    expect(await box.log("inits")).toBe("one\ntwo\nthree\n");
    expect(pod.status?.phase).toBe("Succeeded");
    expect(pod.status?.initContainerStatuses?.map(({ ready, state }) => [ready, state?.terminated?.reason])).toEqual([
      [true, "Completed"],
      [true, "Completed"],
      [true, "Completed"],
    ]);
    await box.remove("inits");
  });

  test("the main containers wait while an init container runs", async () => {
    const initContainers = [container("wait", "while [ ! -e /v/go ]; do sleep 0.1; done", { volumeMounts })];
    await box.create("waiting", {
      spec: { runtimeClassName, volumes, initContainers, containers: [container("main", idle)] },
    });
    const pod = await box.api.until("waiting", (one) => statusOf(one, "wait")?.state?.running !== undefined);
    expect([
      pod.status?.phase,
      statusOf(pod)?.state?.waiting?.reason,
      conditionOf(pod, "Initialized"),
      conditionOf(pod, "Ready"),
    ]).toEqual(["Pending", "PodInitializing", "False", "False"]);
    await box.shell("waiting", "touch /v/go", "wait");
    const after = await box.api.until("waiting", isReady);
    expect(conditionOf(after, "Initialized")).toBe("True");
    await box.remove("waiting");
  });

  test("a failed init container fails a Pod with the policy Never", async () => {
    await box.create("init-fails", {
      spec: {
        runtimeClassName,
        restartPolicy: "Never",
        initContainers: [container("first", "exit 4")],
        containers: [container("main", "echo never")],
      },
    });
    const pod = await box.api.until("init-fails", isOver);
    expect([
      pod.status?.phase,
      statusOf(pod, "first")?.state?.terminated?.exitCode,
      statusOf(pod)?.state?.waiting?.reason,
    ]).toEqual(["Failed", 4, "PodInitializing"]);
    await box.remove("init-fails");
  });

  test("a failed init container is restarted", async () => {
    const script = "if [ -e /v/seen ]; then exit 0; fi; touch /v/seen; exit 1";
    await box.create("init-again", {
      spec: {
        runtimeClassName,
        restartPolicy: "OnFailure",
        volumes,
        initContainers: [container("first", script, { volumeMounts })],
        containers: [container("main", "echo done")],
      },
    });
    const pod = await box.api.until("init-again", isOver);
    expect([pod.status?.phase, statusOf(pod, "first")?.restartCount]).toEqual(["Succeeded", 1]);
    await box.remove("init-again");
  });

  test("a sidecar starts before and ends after the main containers", async () => {
    const sidecar = container(
      "side",
      'trap "echo last >> /v/log; exit 0" TERM; echo first >> /v/log; while :; do sleep 0.1; done',
      { volumeMounts, restartPolicy: "Always" },
    );
    const main = container("main", "while [ ! -e /v/log ]; do sleep 0.1; done; echo main >> /v/log", { volumeMounts });
    await box.create("sidecar", {
      spec: { runtimeClassName, restartPolicy: "Never", volumes, initContainers: [sidecar], containers: [main] },
    });
    const pod = await box.api.until("sidecar", isOver);
    expect([
      pod.status?.phase,
      statusOf(pod, "side")?.state?.terminated?.exitCode,
      statusOf(pod)?.state?.terminated?.exitCode,
    ]).toEqual(["Succeeded", 0, 0]);
    await expect.poll(() => box.events("sidecar"), soon).toContain("Killing: Stopping container side");
    await box.remove("sidecar");
  });

  test("a sidecar is restarted with any restart policy", async () => {
    const sidecar = container("side", "sleep 0.2; exit 0", { restartPolicy: "Always" });
    await box.create("sturdy", {
      spec: {
        runtimeClassName,
        restartPolicy: "Never",
        initContainers: [sidecar],
        containers: [container("main", idle)],
      },
    });
    const pod = await box.api.until("sturdy", (one) => (statusOf(one, "side")?.restartCount ?? 0) >= 2);
    expect(pod.status?.phase).toBe("Running");
    await box.remove("sturdy");
  });

  test("one container restarts without affecting the others", async () => {
    const containers = [
      container("crash", "[ -e /root/x ] || { touch /root/x; exit 1; }; trap 'exit 0' TERM; sleep 1000 & wait"),
      container("calm", idle),
    ];
    await box.create("alone", { spec: { runtimeClassName, containers } });
    const pod = await box.api.until("alone", (one) => isReady(one) && statusOf(one, "crash")?.restartCount === 1);
    expect([statusOf(pod, "calm")?.restartCount, statusOf(pod, "crash")?.lastState?.terminated?.exitCode]).toEqual([
      0, 1,
    ]);
    expect(await box.shell("alone", "hostname", "crash")).toBe("alone");
    await box.remove("alone");
  });

  test("a Pod ends when all its containers have ended, and fails if one has failed", async () => {
    await box.create("mixed", {
      spec: {
        runtimeClassName,
        restartPolicy: "Never",
        containers: [container("good", "exit 0"), container("bad", "sleep 0.3; exit 2")],
      },
    });
    const pod = await box.api.until("mixed", isOver);
    expect([
      pod.status?.phase,
      statusOf(pod, "good")?.state?.terminated?.exitCode,
      statusOf(pod, "bad")?.state?.terminated?.exitCode,
    ]).toEqual(["Failed", 0, 2]);
    await box.remove("mixed");
  });

  test("a container that cannot start does not block the others", async () => {
    await box.create("half", {
      spec: {
        runtimeClassName,
        containers: [container("typo", "", { command: ["/no/such/program"] }), container("fine", idle)],
      },
    });
    const pod = await box.api.until(
      "half",
      (one) => statusOf(one, "fine")?.ready === true && statusOf(one, "typo")?.state?.waiting?.message !== undefined,
    );
    expect([pod.status?.phase, statusOf(pod, "typo")?.state?.waiting?.reason, conditionOf(pod, "Ready")]).toEqual([
      "Pending",
      expect.stringMatching(/^(Create|Run)ContainerError$/),
      "False",
    ]);
    await box.remove("half");
  });

  test("the holder is not shown in the status", async () => {
    await box.create("hidden", {
      spec: { runtimeClassName, containers: [container("a", idle), container("b", idle)] },
    });
    const pod = await box.api.until("hidden", isReady);
    expect(pod.status?.containerStatuses?.map(({ name }) => name)).toEqual(["a", "b"]);
    expect(await box.shell("hidden", "echo a by default")).toBe("a by default");
    await box.remove("hidden", 0);
    expect(box.api.read("hidden")).toBeUndefined();
  });

  test("containers stop at the same time within one grace period", async () => {
    const deaf = "trap '' TERM; sleep 1000";
    const containers = Array.from({ length: 5 }, (_, index) => container(`c${index}`, deaf));
    await box.create("five", { spec: { runtimeClassName, containers } });
    await box.api.until("five", hasPhase("Running"));
    await box.remove("five", 1);
    await expect.poll(() => box.events("five").filter((line) => line.startsWith("Killing: ")), soon).toHaveLength(5);
  });

  test("deleted Pods leave nothing behind", async () => {
    expect(await findTraces(box.dataDir)).toEqual(noTraces);
  });
});
