/** Settings of the kernel that could make restored sandboxes share memory or restore faster. Each is undone at the end. */
import { readFileSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { checkCall, lazyLibc } from "../../packages/node/src/system/native-call.ts";

const ksmFolder = "/sys/kernel/mm/ksm";
const hugePagesFile = "/sys/kernel/mm/transparent_hugepage/shmem_enabled";
/** PR_SET_MEMORY_MERGE. Children inherit it, also when they start another program. */
const setMemoryMerge = 67;

const libc = lazyLibc((library) => ({
  control: library.func("int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)"),
}));

/** Kernel same-page merging for all programs started from here. */
export function mergeSamePages(): Disposable {
  using undo = new DisposableStack();
  for (const [name, value] of [
    ["pages_to_scan", "20000"],
    ["sleep_millisecs", "10"],
    ["run", "1"],
  ] as const)
    undo.use(writeSetting(`${ksmFolder}/${name}`, value));
  const set = (on: number): unknown => checkCall(libc().control(setMemoryMerge, on, 0, 0, 0), "merge same pages");
  set(1);
  undo.defer(() => set(0));
  return undo.move();
}

/** Waits until kernel same-page merging has seen all pages twice: it merges pages that have not changed since. */
export async function waitForMerging(): Promise<void> {
  const scans = (): number => Number(readFileSync(`${ksmFolder}/full_scans`, "utf8"));
  const limit = scans() + 3;
  for (let left = 300; left > 0 && scans() < limit; left -= 1) await sleep(100);
}

/** Huge pages for files in memory, where a program asks for them or always. */
export function useHugePages(): Disposable {
  return writeSetting(hugePagesFile, "always");
}

function writeSetting(path: string, value: string): Disposable {
  const before = readFileSync(path, "utf8").trim();
  const chosen = /\[(\w+)\]/.exec(before)?.[1] ?? before;
  writeFileSync(path, value);
  return { [Symbol.dispose]: () => writeFileSync(path, chosen) };
}
