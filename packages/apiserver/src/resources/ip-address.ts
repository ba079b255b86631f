import { isIP } from "node:net";
import type { FieldError } from "../api-error.ts";
import { invalidValue } from "./field-problems.ts";

export function isIp(text: string): boolean {
  return isIP(text) !== 0 && !text.includes("%");
}

export function ipProblems(text: string, field: string): FieldError[] {
  if (isIp(text)) return [];
  return [invalidValue(field, text, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")];
}
