import { closeSync, openSync, readdirSync, readSync } from "node:fs";
import { join } from "node:path";

/** `e_machine` of the ELF header: what the System V ABI calls EM_X86_64 and EM_AARCH64. */
const machines: Readonly<Record<number, string>> = { 0x3e: "x86_64", 0xb7: "arm64" };

/** The architecture that an ELF file was built for, or `undefined` for other files. Unknown ones are named by their number. */
export function elfArchitecture(path: string): string | undefined {
  const header = Buffer.alloc(20);
  const file = openSync(path, "r");
  try {
    if (readSync(file, header, 0, 20, 0) < 20) return undefined;
  } finally {
    closeSync(file);
  }
  if (header.readUInt32BE(0) !== 0x7f454c46) return undefined;
  const machine = header.readUInt16LE(18);
  return machines[machine] ?? `ELF machine ${machine}`;
}

/** The ELF files below a folder that are not for `architecture`, each with the architecture it is for. */
export function foreignPrograms(folder: string, architecture: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .flatMap((path) => {
      const found = elfArchitecture(path);
      return found === undefined || found === architecture ? [] : [`${path} (${found})`];
    });
}
