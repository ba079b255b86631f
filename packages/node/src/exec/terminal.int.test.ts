import { once } from "node:events";
import { text } from "node:stream/consumers";
import type { ExecSession } from "@agent-sandbox/kube";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cannotRun, testedRuntimes } from "../testing/runtimes.ts";
import { isReady, namespace } from "../testing/test-api.ts";
import { openTestBox, type TestBox } from "../testing/test-box.ts";

const stay = { image: "host", command: ["sleep", "1000000"] };

describe.skipIf(cannotRun)("terminals of commands", () => {
  let box: TestBox;
  beforeAll(async () => {
    box = await openTestBox();
  });
  afterAll(() => box?.[Symbol.asyncDispose]());

  const start = (pod: string, script: string, container = "main"): Promise<ExecSession> =>
    box.node.podStreams.exec({ namespace, pod, container, command: ["bash", "-c", script], tty: true, stdin: true });
  const run = async (pod: string, script: string, container?: string): Promise<[string, number]> => {
    const session = await start(pod, script, container);
    const [said, { code }] = await Promise.all([text(session.stdout), session.exit]);
    return [said.replaceAll("\r", ""), code];
  };

  describe.each(testedRuntimes)("%s", (runtime) => {
    const [pod, other] = [`terminals-${runtime}`, `terminals-of-users-${runtime}`];
    beforeAll(async () => {
      const runAs = { securityContext: { runAsUser: 1000, runAsGroup: 1001, readOnlyRootFilesystem: true } };
      const containers = ["main", "second"].map((name) => ({ name, ...stay }));
      await Promise.all([
        box.create(pod, { spec: { runtimeClassName: runtime, containers } }),
        box.create(other, { spec: { runtimeClassName: runtime, containers: [{ name: "main", ...stay, ...runAs }] } }),
      ]);
      await Promise.all([pod, other].map((name) => box.api.until(name, isReady)));
    });
    afterAll(() => Promise.all([pod, other].map((name) => box.remove(name, 0))));

    test("a terminal has a name, which its user can open", async () => {
      const script =
        'name=$(tty); echo "$name"; echo opened >"$name"; stat -Lc "%F %u" "$name"; readlink /proc/self/fd/0; exit 7';
      for (const [name, user] of [
        [pod, 0],
        [other, 1000],
      ] as const) {
        const [said, code] = await run(name, script);
        expect(said).toMatch(new RegExp(`^(/dev/pts/\\d+)\nopened\ncharacter special file ${user}\n\\1\n$`));
        expect(code).toBe(7);
      }
    });

    test("tmux runs, and sees the size of the terminal", async ({ skip }) => {
      if (!(await box.shell(pod, "command -v tmux"))) skip();
      const session = await start(
        pod,
        "until [ \"$(stty size)\" = '40 100' ]; do sleep 0.05; done; tmux -f /dev/null -L t new-session 'stty size >/tmp/size; read line; echo $line >>/tmp/size; tty >>/tmp/size'",
      );
      session.resize(100, 40);
      const said = text(session.stdout);
      session.stdin.write("typed\n");
      await session.exit;
      await said;
      expect(await box.shell(pod, "cat /tmp/size")).toMatch(/^39 100\ntyped\n\/dev\/pts\/\d+$/);
    });

    test("the names of terminals end with their sessions", async () => {
      const session = await start(pod, "tty; read line");
      const [said] = (await once(session.stdout, "data")) as [Buffer];
      const name = said.toString().trim();
      expect(await box.shell(pod, "cd /dev/pts; echo [0-9]*")).toBe(name.replace("/dev/pts/", ""));
      // Containers of a Pod have their own terminals.
      const open = `(: <${name}) 2>/dev/null && echo opened || echo refused`;
      expect([await box.shell(pod, open), await box.shell(pod, open, "second")]).toEqual(["opened", "refused"]);
      session.stdin.write("\n");
      session.stdout.resume();
      await session.exit;
      expect(await box.shell(pod, "cd /dev/pts; echo [0-9]*")).toBe("[0-9]*");
    });

    // The containers of a Pod share one devpts under gVisor, so root in one of them can close it for the others' users.
    test.runIf(runtime === "gvisor")(
      "where /dev/pts cannot be searched, a terminal has no name, and works",
      async () => {
        const user = { ...stay, name: "user", securityContext: { runAsUser: 1000 } };
        await box.create("closed", {
          spec: { runtimeClassName: runtime, containers: [{ ...stay, name: "main" }, user] },
        });
        await box.api.until("closed", isReady);
        expect(await box.shell("closed", "chmod 0 /dev/pts && stat -c %a /dev/pts")).toBe("0");
        expect(await run("closed", "tty; test -t 0 && stty size; exit 3", "user")).toEqual(["not a tty\n24 80\n", 3]);
        await box.remove("closed", 0);
      },
    );

    test("keys send signals, and a shell controls its jobs", async () => {
      const session = await start(pod, "exec bash --norc --noediting -i");
      let said = "";
      session.stdout.on("data", (chunk: Buffer) => {
        said += chunk.toString();
      });
      /** Types, and waits for what the terminal then shows. */
      const type = async (keys: string, pattern: RegExp): Promise<void> => {
        said = "";
        session.stdin.write(keys);
        while (!pattern.test(said)) await once(session.stdout, "data");
      };
      // The quotes are not in what the programs print, only in the echo of the line.
      const sleeper = (seconds: number): string => `sh -c 'echo u""p; exec sleep ${seconds}'\n`;
      await type("PS1='ready> '\n", /\nready> $|# ready> $/);
      await type(sleeper(1000), /\nup\r\n/);
      await type("\x03", /ready> $/);
      await type(sleeper(2000), /\nup\r\n/);
      await type("\x1a", /Stopped[^]*ready> $/);
      await type("bg\n", /sleep 2000' &[^]*ready> $/);
      // A program in the background must not read what is typed.
      await type("cat & until jobs -s | grep -q cat; do sleep 0.05; done\n", /ready> $/);
      session.stdin.write("kill -KILL %1 %2; exec sh -c 'exit 5'\n");
      expect(await session.exit).toEqual({ code: 5 });
    });
  });
});
