import { randomBytes, timingSafeEqual } from "node:crypto";
import { join } from "node:path";
import { readFileIfAny, writePrivateFile } from "../private-file.ts";

const tokenBytes = 32;
const tokenPattern = /^[A-Za-z0-9_-]{43}$/;

/** The administrator's token. It is created on the first start and kept in the data folder. */
export function adminToken(folder: string | undefined): string {
  const path = folder === undefined ? undefined : join(folder, "admin.token");
  const kept = path === undefined ? undefined : readFileIfAny(path)?.trim();
  if (kept !== undefined && tokenPattern.test(kept)) return kept;
  const token = randomBytes(tokenBytes).toString("base64url");
  if (path !== undefined) writePrivateFile(path, `${token}\n`);
  return token;
}

/** Compares in constant time. Only the length, which is not secret, affects the duration. */
export function sameToken(left: string, right: string): boolean {
  const [one, other] = [Buffer.from(left), Buffer.from(right)];
  return one.length === other.length && timingSafeEqual(one, other);
}
