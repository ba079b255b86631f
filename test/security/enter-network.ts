import { closeSync, openSync, readlinkSync } from "node:fs";
import koffi from "koffi";

const cloneNewNet = 0x4000_0000;

/**
 * Moves the calling thread into the network namespace of a process. From then on every socket this file opens and every
 * program it starts belongs to that namespace, so `127.0.0.1` is the loopback of the machine under attack.
 * File operations of Node's thread pool stay outside: read `/proc/sys/net` with the synchronous functions.
 */
export function enterNetworkOf(pid: number): void {
  const setns = koffi.load("libc.so.6").func("int setns(int descriptor, int type)");
  const descriptor = openSync(`/proc/${pid}/ns/net`, "r");
  try {
    if (Number(setns(descriptor, cloneNewNet)) !== 0) throw new Error(`Cannot enter the network of process ${pid}`);
  } finally {
    closeSync(descriptor);
  }
  const [own, wanted] = ["thread-self", String(pid)].map((who) => readlinkSync(`/proc/${who}/ns/net`));
  if (own !== wanted) throw new Error(`Cannot enter the network of process ${pid}: still in ${own}`);
}
