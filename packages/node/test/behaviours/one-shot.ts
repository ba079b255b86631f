import type { Container, PodSpec } from "@agent-sandbox/api";
import { describe, test } from "vitest";
import { testedRuntimes } from "../../src/testing/runtimes.ts";
import { isOver, statusOf, type TestBox, type TestPod } from "../../src/testing/test-box.ts";

/** A Pod that runs one script. `main` is merged into the container, `spec` into the Pod's spec. */
export interface OneShot {
  readonly name: string;
  readonly script: string;
  readonly main?: Partial<Container>;
  readonly spec?: Partial<PodSpec>;
  readonly metadata?: TestPod["metadata"];
  /** The whole output, or a pattern. */
  readonly prints: string | RegExp;
  /** Default 0. */
  readonly exits?: number;
  /** The runtimes to test. Default: all. */
  readonly only?: readonly string[];
}

export function podOf({ script, main, spec, metadata }: OneShot, runtimeClassName: string): TestPod {
  const container: Container = { name: "main", image: "host", command: ["sh", "-c", script], ...main };
  return {
    ...(metadata !== undefined && { metadata }),
    spec: { restartPolicy: "Never", runtimeClassName, containers: [container], ...spec },
  };
}

/** Defines a test for each behaviour and runtime. They run concurrently. */
export function testOneShots(prefix: string, behaviours: readonly OneShot[], box: () => TestBox): void {
  describe.each(testedRuntimes)("%s", (runtime) => {
    const rows = behaviours.filter(({ only = [runtime] }) => only.includes(runtime));
    test.concurrent.for(rows.map((one, index) => [one.name, one, `${prefix}-${index}-${runtime}`] as const))(
      "%s",
      async ([, behaviour, name], { expect }) => {
        const own = box();
        await own.create(name, podOf(behaviour, runtime));
        const pod = await own.api.until(name, isOver);
        expect({ said: await own.log(name), exited: statusOf(pod)?.state?.terminated?.exitCode }).toEqual({
          said: typeof behaviour.prints === "string" ? behaviour.prints : expect.stringMatching(behaviour.prints),
          exited: behaviour.exits ?? 0,
        });
        await own.remove(name);
      },
    );
  });
}
