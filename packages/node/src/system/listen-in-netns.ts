import { closeSync, openSync } from "node:fs";
import { checkCall, lazyLibc } from "./native-call.ts";

const [internet, stream, closeOnExec, networkNamespace] = [2, 1, 0o2000000, 0x40000000];
const backlog = 128;

type Call = (...args: readonly unknown[]) => number;

/**
 * Listens on an IPv4 address inside another network namespace and returns the descriptor. This thread enters the namespace
 * only to create the socket: a socket stays in the namespace in which it was created.
 */
export function listenInNetns(netnsPath: string, address: string, port: number): number {
  const calls = libraryCalls();
  const own = openSync("/proc/thread-self/ns/net", "r");
  const other = openSync(netnsPath, "r");
  try {
    checkCall(calls.enter(other, networkNamespace), `enter "${netnsPath}"`);
    try {
      return listen(address, port);
    } finally {
      // This thread must not continue in the wrong network namespace.
      if (calls.enter(own, networkNamespace) !== 0) process.abort();
    }
  } finally {
    closeSync(own);
    closeSync(other);
  }
}

function listen(address: string, port: number): number {
  const calls = libraryCalls();
  const descriptor = checkCall(calls.open(internet, stream | closeOnExec, 0), "create a socket");
  const name = Buffer.alloc(16);
  name.writeUInt16LE(internet, 0);
  name.writeUInt16BE(port, 2);
  for (const [index, part] of address.split(".").entries()) name.writeUInt8(Number(part), 4 + index);
  try {
    checkCall(calls.bind(descriptor, name, name.length), `listen on ${address}:${port}`);
    checkCall(calls.listen(descriptor, backlog), `listen on ${address}:${port}`);
    return descriptor;
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

const libraryCalls = lazyLibc((library) => {
  const call = (declaration: string): Call => library.func(declaration) as Call;
  return {
    enter: call("int setns(int descriptor, int type)"),
    open: call("int socket(int domain, int type, int protocol)"),
    bind: call("int bind(int socket, const void *address, unsigned int length)"),
    listen: call("int listen(int socket, int backlog)"),
  };
});
