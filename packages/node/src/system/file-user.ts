import { checkCall, lazyLibc } from "./native-call.ts";

/** `struct __user_cap_header_struct` version 3 for the calling thread, and its data: two sets of three masks. */
const capabilityVersion = 0x2008_0522;
const [headerBytes, dataBytes] = [8, 24];

/**
 * Runs a function with the filesystem ids of another user and root's capabilities. For example, overlayfs creates whiteouts
 * and work folders as the user who mounted it. The function must be synchronous: the ids are those of this thread, and
 * they are root's again before other code runs on it.
 */
export function asFileUser<T>(id: number, act: () => T): T {
  const calls = libraryCalls();
  const header = Buffer.alloc(headerBytes);
  header.writeUInt32LE(capabilityVersion, 0);
  const capabilities = Buffer.alloc(dataBytes);
  checkCall(calls.getCapabilities(header, capabilities), "read the capabilities of this process");
  try {
    calls.setFileGroup(id);
    // This drops the capabilities over files, so set them again.
    calls.setFileUser(id);
    checkCall(calls.setCapabilities(header, capabilities), "keep the capabilities of this process");
    return act();
  } finally {
    calls.setFileUser(0);
    calls.setFileGroup(0);
    checkCall(calls.setCapabilities(header, capabilities), "restore the capabilities of this process");
  }
}

const libraryCalls = lazyLibc((library) => {
  const call = (declaration: string) => library.func(declaration) as (...args: readonly unknown[]) => number;
  return {
    setFileUser: call("int setfsuid(unsigned int id)"),
    setFileGroup: call("int setfsgid(unsigned int id)"),
    getCapabilities: call("int capget(void *header, void *data)"),
    setCapabilities: call("int capset(void *header, void *data)"),
  };
});
