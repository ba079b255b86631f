import { NodeError } from "../errors.ts";

/**
 * Machine code without any dependency: it calls `statx` for "/" with the flag AT_NO_AUTOMOUNT, as Debian's `ls` does, and exits
 * with 42, or with 43 if the kernel does not support that.
 */
const code: Readonly<Record<string, string>> = {
  x64: [
    "bf9cffffff488d352e000000ba00080000", // statx(AT_FDCWD, "/", AT_NO_AUTOMOUNT,
    "41baff0700004881ec000200004989e0b84c0100000f05", // STATX_BASIC_STATS, room on the stack)
    "bf2a00000085c07402ffc7", // 42, and one more unless it returned 0
    "b83c0000000f052f00", // exit; "/"
  ].join(""),
  arm64: [
    "600c809281010010020081d2",
    "e3ff80d2ff0308d1e4030091682480d2010000d4",
    "1f0000f1400580d20004809a",
    "a80b80d2010000d42f00",
  ].join(""),
};

const machineNumber: Readonly<Record<string, number>> = { x64: 62, arm64: 183 };
export const fineCode = 42;
export const flawedCode = 43;

const headerSize = 64;
const segmentSize = 56;
const loadAddress = 0x40_0000n;

/** An executable file: the header, one segment that is the whole file, and the code. */
export function staticProgram(arch: string): Buffer {
  const instructions = Buffer.from(code[arch] ?? "", "hex");
  if (instructions.length === 0) {
    throw new NodeError(
      "NodeSetup",
      `Cannot build a test program for "${arch}": supported are ${Object.keys(code).join(", ")}`,
    );
  }
  const start = headerSize + segmentSize;
  const size = start + instructions.length;
  const file = Buffer.alloc(size);
  // 64 bits, little-endian, version 1; an executable.
  file.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
  file.writeUInt16LE(2, 16);
  file.writeUInt16LE(machineNumber[arch] ?? 0, 18);
  file.writeUInt32LE(1, 20);
  file.writeBigUInt64LE(loadAddress + BigInt(start), 24);
  file.writeBigUInt64LE(BigInt(headerSize), 32);
  file.writeUInt16LE(headerSize, 52);
  file.writeUInt16LE(segmentSize, 54);
  file.writeUInt16LE(1, 56);
  // PT_LOAD, readable and executable.
  file.writeUInt32LE(1, headerSize);
  file.writeUInt32LE(5, headerSize + 4);
  file.writeBigUInt64LE(loadAddress, headerSize + 16);
  file.writeBigUInt64LE(loadAddress, headerSize + 24);
  file.writeBigUInt64LE(BigInt(size), headerSize + 32);
  file.writeBigUInt64LE(BigInt(size), headerSize + 40);
  file.writeBigUInt64LE(0x1000n, headerSize + 48);
  file.set(instructions, start);
  return file;
}
