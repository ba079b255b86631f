import type { Container, PodSpec } from "@agent-sandbox/api";
import { describe, test } from "vitest";
import { testedRuntimes } from "../testing/runtimes.ts";
import { isOver, statusOf, type TestBox, type TestPod } from "../testing/test-box.ts";

/** A Pod that runs one script to its end. `main` adds to the container, `spec` to the Pod. */
export interface OneShot {
  readonly name: string;
  readonly script: string;
  readonly main?: Partial<Container>;
  readonly spec?: Partial<PodSpec>;
  readonly metadata?: TestPod["metadata"];
  /** What it prints: as a whole, or a pattern. */
  readonly prints: string | RegExp;
  /** Default 0. */
  readonly exits?: number;
  /** What it behaves like elsewhere is none of this runtime's business. Default: all runtimes. */
  readonly only?: readonly string[];
}

export function podOf({ script, main, spec, metadata }: OneShot, runtimeClassName: string): TestPod {
  const container: Container = { name: "main", image: "host", command: ["sh", "-c", script], ...main };
  return {
    ...(metadata !== undefined && { metadata }),
    spec: { restartPolicy: "Never", runtimeClassName, containers: [container], ...spec },
  };
}

/** A test for each behaviour with each runtime, several at a time. */
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
