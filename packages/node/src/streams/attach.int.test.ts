import { text } from "node:stream/consumers";
import type { Container } from "@agent-sandbox/api";
import type { ExecSession } from "@agent-sandbox/kube";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cannotRun, testedRuntimes } from "../testing/runtimes.ts";
import { isReady, namespace } from "../testing/test-api.ts";
import { isOver, openTestBox, soon, type TestBox } from "../testing/test-box.ts";

describe.skipIf(cannotRun)("attach to a container with stdin", () => {
  let box: TestBox;
  beforeAll(async () => {
    box = await openTestBox();
  });
  afterAll(async () => await box?.[Symbol.asyncDispose]());

  const run = async (name: string, runtimeClassName: string, main: Partial<Container>): Promise<void> => {
    const containers = [{ name: "main", image: "host", ...main }];
    await box.create(name, { spec: { runtimeClassName, restartPolicy: "Never", containers } });
    await box.api.until(name, isReady);
  };
  const attach = (pod: string, { tty = false, stdin = true } = {}): Promise<ExecSession> =>
    box.node.podStreams.attach({ namespace, pod, tty, stdin });

  describe.each(testedRuntimes)("%s", (runtime) => {
    test("the container reads the whole input and its end", async () => {
      const name = `once-${runtime}`;
      await run(name, runtime, { stdin: true, stdinOnce: true, command: ["sh", "-c", "wc -c; echo done"] });
      const session = await attach(name);
      session.stdin.end(Buffer.alloc(300_000, "x"));
      const [said] = await Promise.all([text(session.stdout), text(session.stderr), session.exit]);
      expect(said).toBe("300000\ndone\n");
      await box.api.until(name, isOver);
      await box.remove(name);
    });

    test("the input stays open for the next client without stdinOnce", async () => {
      const name = `again-${runtime}`;
      await run(name, runtime, { stdin: true, command: ["sh", "-c", 'while read -r line; do echo "got $line"; done'] });
      for (const word of ["first", "second"]) {
        const session = await attach(name);
        session.stdin.end(`${word}\n`);
        await expect.poll(() => box.log(name), soon).toContain(`got ${word}\n`);
        session.kill();
        await session.exit;
      }
      await box.remove(name);
    });

    test("a terminal has the requested size", async () => {
      const name = `terminal-${runtime}`;
      await run(name, runtime, { stdin: true, tty: true, command: ["sh"] });
      const session = await attach(name, { tty: true });
      session.resize(120, 40);
      session.stdin.write("test -t 0 && stty size && echo $TERM; exit\n");
      const said = await text(session.stdout);
      expect(said).toContain("40 120");
      expect(said).toContain("xterm");
      await box.api.until(name, isOver);
      await box.remove(name);
    });
  });

  test("stdin and tty are refused for a container without them", async () => {
    await run("plain", "runc", { command: ["sleep", "infinity"] });
    await expect(attach("plain")).rejects.toThrow('container "main" has no standard input');
    await expect(attach("plain", { stdin: false, tty: true })).rejects.toThrow("has no terminal");
    await box.remove("plain");
  });
});
