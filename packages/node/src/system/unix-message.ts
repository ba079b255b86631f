import { closeSync, constants, openSync } from "node:fs";
import koffi from "koffi";
import { checkCall, lazyLibc } from "./native-call.ts";

/** Constants of the kernel, the same on all supported architectures. */
const [unixDomain, streamType, closeOnExec, nonBlocking] = [1, 1, 0o2_000_000, 0o4000];
const [noSignal, socketLevel, descriptorRights, writing] = [0x4000, 1, 1, 1];
/** O_PATH. */
const pathOnly = 0o10_000_000;
/** The longest path in `struct sockaddr_un`, without the zero at its end. */
const longestPath = 107;

/**
 * Connects to a Unix stream socket, sends one message together with open descriptors, and ends the sending direction. Returns the
 * descriptor of the connection, from which the caller reads the answer. Never blocks: a server that does not accept
 * connections, or does not read, is an error.
 */
export function sendUnixMessage(path: string, message: Uint8Array, descriptors: readonly number[]): number {
  const calls = libraryCalls();
  const socket = checkCall(calls.open(unixDomain, streamType | closeOnExec | nonBlocking, 0), "create a socket");
  try {
    connect(socket, path);
    const control = descriptors.length === 0 ? null : rightsOf(descriptors);
    const header = {
      name: null,
      nameLength: 0,
      parts: [{ base: message, length: message.length }],
      count: 1,
      control,
      controlLength: control?.length ?? 0,
      flags: 0,
    };
    const sent = checkCall(calls.send(socket, header, noSignal), `send to "${path}"`);
    if (sent !== message.length) throw new Error(`Cannot send to "${path}": its buffer is full`);
    checkCall(calls.shutdown(socket, writing), `end sending to "${path}"`);
    return socket;
  } catch (error) {
    closeSync(socket);
    throw error;
  }
}

export interface Pipe {
  readonly reading: number;
  readonly writing: number;
}

/** Creates a pipe. Reading and writing it do not block. The caller closes both ends. */
export function openPipe(): Pipe {
  const ends = new Int32Array(2);
  checkCall(libraryCalls().pipe(ends, closeOnExec | nonBlocking), "create a pipe");
  const [reading = -1, other = -1] = ends;
  return { reading, writing: other };
}

/** The address of a socket with a long path is the path of a descriptor of it. */
function connect(socket: number, path: string): void {
  const isLong = Buffer.byteLength(path) > longestPath;
  const handle = isLong ? openSync(path, pathOnly | constants.O_NOFOLLOW) : undefined;
  try {
    const text = handle === undefined ? path : `/proc/self/fd/${handle}`;
    const address = Buffer.concat([Buffer.of(unixDomain, 0), Buffer.from(`${text}\0`)]);
    checkCall(libraryCalls().connect(socket, address, address.length), `connect to "${path}"`);
  } finally {
    if (handle !== undefined) closeSync(handle);
  }
}

/** `struct cmsghdr` with its length, level and type, then the descriptors. Padded to eight bytes. */
function rightsOf(descriptors: readonly number[]): Buffer {
  const headBytes = 16;
  const length = headBytes + 4 * descriptors.length;
  const control = Buffer.alloc(Math.ceil(length / 8) * 8);
  control.writeBigUInt64LE(BigInt(length), 0);
  control.writeInt32LE(socketLevel, 8);
  control.writeInt32LE(descriptorRights, 12);
  for (const [index, descriptor] of descriptors.entries()) control.writeInt32LE(descriptor, headBytes + 4 * index);
  return control;
}

type Call = (...args: readonly unknown[]) => number;

const libraryCalls = lazyLibc((library) => {
  const call = (declaration: string): Call => library.func(declaration) as Call;
  /** `struct iovec` and `struct msghdr`. */
  const part = koffi.struct({ base: "const void *", length: "size_t" });
  const header = koffi.struct({
    name: "const void *",
    nameLength: "uint",
    parts: koffi.pointer(part),
    count: "size_t",
    control: "const void *",
    controlLength: "size_t",
    flags: "int",
  });
  return {
    open: call("int socket(int domain, int type, int protocol)"),
    connect: call("int connect(int socket, const void *address, unsigned int length)"),
    shutdown: call("int shutdown(int socket, int how)"),
    pipe: call("int pipe2(int *ends, int flags)"),
    send: library.func("sendmsg", "long", ["int", koffi.pointer(header), "int"]) as Call,
  };
});
