import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { elfArchitecture, foreignPrograms } from "./elf.ts";

const folder = mkdtempSync(join(tmpdir(), "elf-"));
afterAll(() => rmSync(folder, { recursive: true }));

function write(name: string, machine: number): string {
  const header = Buffer.alloc(64);
  header.write("\x7fELF", "latin1");
  header.writeUInt16LE(machine, 18);
  const path = join(folder, name);
  writeFileSync(path, header);
  return path;
}

test("reads the architecture from the ELF header", () => {
  expect(elfArchitecture(process.execPath)).toBe(process.arch === "arm64" ? "arm64" : "x86_64");
  expect(elfArchitecture(write("arm", 0xb7))).toBe("arm64");
  expect(elfArchitecture(write("riscv", 0xf3))).toBe("ELF machine 243");
});

test("other files have no architecture", () => {
  const short = join(folder, "short");
  writeFileSync(short, "\x7fELF");
  expect(elfArchitecture(short)).toBeUndefined();
  expect(elfArchitecture(import.meta.filename)).toBeUndefined();
});

test("finds programs of another architecture in a folder", () => {
  write("amd", 0x3e);
  expect(foreignPrograms(folder, "x86_64").sort()).toEqual([
    `${join(folder, "arm")} (arm64)`,
    `${join(folder, "riscv")} (ELF machine 243)`,
  ]);
});
