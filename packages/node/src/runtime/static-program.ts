import { NodeError } from "../errors.ts";

/** Machine code that ends with 42, and needs no library, no file and no memory for that. */
const code: Readonly<Record<string, readonly number[]>> = {
  // mov edi, 42; mov eax, 60 (exit); syscall
  x64: [0xbf, 42, 0, 0, 0, 0xb8, 60, 0, 0, 0, 0x0f, 0x05],
  // mov x0, 42; mov x8, 93 (exit); svc 0
  arm64: [0x40, 0x05, 0x80, 0xd2, 0xa8, 0x0b, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4],
};

const machineNumber: Readonly<Record<string, number>> = { x64: 62, arm64: 183 };
export const exitCode = 42;

const headerSize = 64;
const segmentSize = 56;
const loadAddress = 0x40_0000n;

/** An executable file: the header, one segment that is the whole file, and the code. */
export function staticProgram(arch: string): Buffer {
  const instructions = code[arch];
  if (instructions === undefined) {
    throw new NodeError("NodeSetup", `Cannot make a program for "${arch}": known are ${Object.keys(code).join(", ")}`);
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
  // Load it all, to be read and executed.
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
