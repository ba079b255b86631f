import { isName } from "../../cluster/names.ts";
import { badRequest } from "../../http/http-error.ts";

/** The last sandbox of a page. The next page begins after it, whatever was created or deleted in the meantime. */
export interface Cursor {
  readonly startedMs: number;
  readonly name: string;
}

export function formatCursor({ startedMs, name }: Cursor): string {
  return Buffer.from(`${startedMs}/${name}`).toString("base64url");
}

export function parseCursor(text: string): Cursor {
  const plain = Buffer.from(text, "base64url").toString("latin1");
  const [, digits, name = ""] = /^(\d{1,15})\/(.+)$/.exec(plain) ?? [];
  if (digits === undefined || !isName(name) || Buffer.from(plain, "latin1").toString("base64url") !== text) {
    throw badRequest("nextToken is not valid");
  }
  return { startedMs: Number(digits), name };
}
