import { closeSync, openSync } from "node:fs";
import { getSystemErrorMessage } from "node:util";
import koffi from "koffi";

const [internet, stream, closeOnExec, networkNamespace] = [2, 1, 0o2000000, 0x40000000];
const backlog = 128;

type Call = (...args: readonly unknown[]) => number;

/**
 * Listens on an IPv4 address inside another network namespace and returns the descriptor. This thread is there for the
 * moment in which the socket is made: a socket stays in its namespace, whoever holds it.
 */
export function listenInNetns(netnsPath: string, address: string, port: number): number {
  const calls = load();
  const own = openSync("/proc/thread-self/ns/net", "r");
  const other = openSync(netnsPath, "r");
  try {
    check(calls.enter(other, networkNamespace), `enter "${netnsPath}"`);
    try {
      return listen(calls, address, port);
    } finally {
      // This thread must never go on in the wrong network.
      if (calls.enter(own, networkNamespace) !== 0) process.abort();
    }
  } finally {
    closeSync(own);
    closeSync(other);
  }
}

function listen(calls: Calls, address: string, port: number): number {
  const descriptor = calls.open(internet, stream | closeOnExec, 0);
  if (descriptor < 0) check(-1, "make a socket");
  const name = Buffer.alloc(16);
  name.writeUInt16LE(internet, 0);
  name.writeUInt16BE(port, 2);
  for (const [index, part] of address.split(".").entries()) name.writeUInt8(Number(part), 4 + index);
  try {
    check(calls.bind(descriptor, name, name.length), `listen on ${address}:${port}`);
    check(calls.listen(descriptor, backlog), `listen on ${address}:${port}`);
    return descriptor;
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

function check(result: number, what: string): void {
  if (result !== 0) throw new Error(`Cannot ${what}: ${getSystemErrorMessage(-koffi.errno())}`);
}

interface Calls {
  readonly enter: Call;
  readonly open: Call;
  readonly bind: Call;
  readonly listen: Call;
}

let loaded: Calls | undefined;

function load(): Calls {
  if (loaded !== undefined) return loaded;
  const library = koffi.load("libc.so.6");
  const call = (declaration: string): Call => library.func(declaration) as Call;
  loaded = {
    enter: call("int setns(int descriptor, int type)"),
    open: call("int socket(int domain, int type, int protocol)"),
    bind: call("int bind(int socket, const void *address, unsigned int length)"),
    listen: call("int listen(int socket, int backlog)"),
  };
  return loaded;
}
