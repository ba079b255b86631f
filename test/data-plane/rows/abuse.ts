import { execFileSync } from "node:child_process";
import { jsonOf } from "../ask.ts";
import type { Rows } from "../checklist.ts";
import type { World } from "../world.ts";
import { running } from "./legacy.ts";
import { begin, exitOf, until } from "./processes.ts";

const shell = (script: string) => ({ command: ["sh", "-c", script] });

/** All APIs work, the memory is small, and there are no zombies. */
async function expectWell({ expect, subject }: World): Promise<void> {
  const zombies = "cat /proc/[0-9]*/stat 2>/dev/null | grep -c ') Z '";
  const state = async (): Promise<object> => {
    const [resident, left] = (
      await subject.shell(`grep VmRSS /proc/1/status | grep -o '[0-9]*'; ${zombies} || true`)
    ).split("\n");
    return {
      health: (await subject.rest("/health")).status,
      written: (await subject.rest("/files/alive", { method: "PUT", body: "x" })).status,
      zombies: left,
      isSmall: Number(resident) < 96 * 1024,
    };
  };
  const well = { health: 200, written: 204, zombies: "0", isSmall: true };
  await expect.poll(state, { timeout: 15_000 }).toEqual(well);
}

export const abuse: Rows<"abuse"> = {
  "a fork bomb": async (world) => {
    const { expect, subject } = world;
    using channel = await subject.processes();
    // Fewer than the limit, since other tests share the machine.
    const script = "i=0; while [ $i -lt 60 ]; do (setsid sleep 7201 &) ; i=$((i+1)); done; echo all; wait; sleep 7201";
    const family = await begin(channel, shell(script));
    await until(family, "all");
    expect((await subject.rest("/health")).status).toBe(200);
    family.call.cancel();
    await expect.poll(() => running(subject, "sleep 7201"), { timeout: 15_000 }).toBe(0);
    await expectWell(world);
  },

  "a child that ignores signals": async (world) => {
    const { expect, subject } = world;
    using channel = await subject.processes();
    const stubborn = await begin(
      channel,
      shell("trap '' HUP INT QUIT TERM USR1 USR2; echo armed; while :; do sleep 0.05; done"),
    );
    await until(stubborn, "armed");
    const { processId } = stubborn;
    for (const signal of [1, 2, 15]) await channel.unary("SendSignal", { processId, signal });
    const { value } = await channel.unary<{ processes: { processId: number; exit?: object }[] }>("List", {});
    expect(value.processes.find((each) => each.processId === processId)).not.toHaveProperty("exit");
    await channel.unary("SendSignal", { processId, signal: 9 });
    expect(await exitOf(stubborn)).toEqual({ exitCode: -1, signal: 9 });
    await expectWell(world);
  },

  "a child that closes its output": async (world) => {
    const { expect, subject } = world;
    using channel = await subject.processes();
    const { events } = await channel.start(shell("echo before; exec >&- 2>&- <&-; sleep 0.3; exit 8")).rest();
    expect(events.map(({ stdout = "" }) => stdout).join("")).toBe("before\n");
    expect(events.at(-1)?.exit).toEqual({ exitCode: 8 });
    await expectWell(world);
  },

  "output that is not read": async (world) => {
    const { expect, subject } = world;
    using channel = await subject.processes();
    const calls = Array.from({ length: 4 }, () => channel.start(shell("exec yes 0123456789abcdef")));
    const written = async (): Promise<number> => {
      const { value } = await channel.unary<{ processes?: { nextOffset?: number }[] }>("List", {});
      return (value.processes ?? []).reduce((sum, { nextOffset = 0 }) => sum + nextOffset, 0);
    };
    let last = -1;
    const stands = async (): Promise<boolean> => {
      const [before, now] = [last, await written()];
      last = now;
      return now > 0 && now === before;
    };
    await expect.poll(stands, { interval: 300, timeout: 30_000 }).toBe(true);
    await expectWell(world);
    for (const call of calls) call.cancel();
    await expect.poll(() => running(subject, "yes 0123456789abcdef"), { timeout: 5000 }).toBe(0);
    await expectWell(world);
  },

  "many small files": async (world) => {
    const { expect, subject } = world;
    const count = 3000;
    await subject.shell(`mkdir -p many; cd many; seq -f %06.0f 1 ${count} | xargs touch`);
    const { entries } = jsonOf<{ entries: object[] }>(await subject.rest("/files/many"));
    expect(entries).toHaveLength(count);
    expect((await subject.rest("/tree/many")).text.split("\n")).toHaveLength(count + 1);
    expect((await subject.rest("/files/many?recursive=true", { method: "DELETE" })).status).toBe(204);
    await expectWell(world);
  },

  "a sparse file of one GiB": async (world) => {
    const { expect, subject, box } = world;
    // gVisor does not tell where the holes are, so that the copy reads all of it: that takes two seconds for each GiB.
    await subject.shell("truncate -s 1G sparse; printf end >> sparse");
    const tail = await subject.rest("/files/sparse", { headers: { range: "bytes=-3" } });
    expect([tail.status, tail.text]).toEqual([206, "end"]);
    const to = `copy-${subject.name}`;
    const body = JSON.stringify({ from: "sparse", to });
    expect((await subject.rest("/fs/copy", { method: "POST", body })).status).toBe(204);
    expect(await subject.shell(`stat -c %s ${to}; tail -c 3 ${to}`)).toBe("1073741827\nend");
    // Measured on the machine, because not every runtime reports allocated blocks.
    const blocks = ["-path", `*/upper/workspace/${to}`, "-printf", "%b"];
    expect(Number(execFileSync("find", [`${box.box.dataDir}/node/kept`, ...blocks]))).toBeLessThan(4096);
    await subject.shell(`rm sparse ${to}`);
    await expectWell(world);
  },
};
