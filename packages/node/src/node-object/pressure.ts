import { readFile, statfs } from "node:fs/promises";

/** The free resources of the machine. */
export interface Room {
  readonly memoryBytes: number;
  readonly diskBytes: number;
  /** The size of the filesystem that Pods write to. */
  readonly diskTotalBytes: number;
  readonly processes: number;
  readonly mostProcesses: number;
}

export interface PressureCondition {
  readonly type: "MemoryPressure" | "DiskPressure" | "PIDPressure";
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
}

/** The kubelet's thresholds: 100 MiB of memory, a tenth of the disk, a tenth of the process ids. */
const leastMemoryBytes = 100 * 2 ** 20;
const leastShare = 0.1;

/** The pressure conditions with the kubelet's reasons and messages. */
export function pressuresOf(room: Room): PressureCondition[] {
  const left = room.mostProcesses - room.processes;
  return [
    room.memoryBytes < leastMemoryBytes
      ? pressure("MemoryPressure", "KubeletHasInsufficientMemory", "the machine has hardly any memory left")
      : none("MemoryPressure", "KubeletHasSufficientMemory", "the machine has enough memory"),
    room.diskBytes < leastShare * room.diskTotalBytes
      ? pressure("DiskPressure", "KubeletHasDiskPressure", "the disk is nearly full")
      : none("DiskPressure", "KubeletHasNoDiskPressure", "the disk has enough room"),
    left < leastShare * room.mostProcesses
      ? pressure("PIDPressure", "KubeletHasInsufficientPID", "the machine can hardly start processes")
      : none("PIDPressure", "KubeletHasSufficientPID", "the machine can start enough processes"),
  ];
}

const pressure = (type: PressureCondition["type"], reason: string, message: string): PressureCondition => ({
  type,
  status: "True",
  reason,
  message,
});
const none = (...[type, reason, message]: Parameters<typeof pressure>): PressureCondition => ({
  ...pressure(type, reason, message),
  status: "False",
});

export async function readRoom(folder: string): Promise<Room> {
  const [meminfo = "", loadavg = "", most = ""] = await Promise.all(
    ["/proc/meminfo", "/proc/loadavg", "/proc/sys/kernel/pid_max"].map((path) => readFile(path, "utf8")),
  );
  const { bavail, blocks, bsize } = await statfs(folder);
  return {
    memoryBytes: 1024 * Number(/^MemAvailable: +(\d+)/m.exec(meminfo)?.[1] ?? Number.POSITIVE_INFINITY),
    diskBytes: bavail * bsize,
    diskTotalBytes: blocks * bsize,
    // The fourth field of /proc/loadavg: runnable and existing threads.
    processes: Number(/\/(\d+)/.exec(loadavg)?.[1] ?? 0),
    mostProcesses: Number(most),
  };
}
