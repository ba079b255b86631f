import koffi from "koffi";

/** `struct __user_cap_header_struct` of version 3 for the calling thread, and its data: two sets of three masks. */
const capabilityVersion = 0x2008_0522;
const [headerBytes, dataBytes] = [8, 24];

/**
 * Does something with files as another user with root's capabilities, for example mount an overlay whose layers map
 * root to that user: overlayfs makes its own files (whiteouts, work folders) as whoever mounted it. What is done must be
 * synchronous: only this thread becomes the other user, and it is root again before anything else runs on it.
 */
export function asFileUser<T>(id: number, act: () => T): T {
  const calls = loadedCalls();
  const header = Buffer.alloc(headerBytes);
  header.writeUInt32LE(capabilityVersion, 0);
  const capabilities = Buffer.alloc(dataBytes);
  check(calls.getCapabilities(header, capabilities), "read the capabilities of this process");
  try {
    calls.setFileGroup(id);
    // The kernel takes the capabilities over files away with it.
    calls.setFileUser(id);
    check(calls.setCapabilities(header, capabilities), "keep the capabilities of this process");
    return act();
  } finally {
    calls.setFileUser(0);
    calls.setFileGroup(0);
    check(calls.setCapabilities(header, capabilities), "restore the capabilities of this process");
  }
}

function check(result: number, what: string): void {
  if (result !== 0) throw new Error(`Cannot ${what}: error ${koffi.errno()}`);
}

type Calls = ReturnType<typeof loadCalls>;
let loaded: Calls | undefined;

/** Loaded with the first call. */
function loadedCalls(): Calls {
  loaded ??= loadCalls();
  return loaded;
}

function loadCalls() {
  const library = koffi.load("libc.so.6");
  const call = (declaration: string) => library.func(declaration) as (...args: readonly unknown[]) => number;
  return {
    setFileUser: call("int setfsuid(unsigned int id)"),
    setFileGroup: call("int setfsgid(unsigned int id)"),
    getCapabilities: call("int capget(void *header, void *data)"),
    setCapabilities: call("int capset(void *header, void *data)"),
  };
}
