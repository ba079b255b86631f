import { badRequest } from "../api-error.ts";

/** Where the next page of a list starts. */
export interface ContinueToken {
  readonly revision: number;
  /** The key of the last object of the previous page. */
  readonly after: string;
}

/** Opaque to clients. */
export function encodeContinue({ revision, after }: ContinueToken): string {
  return Buffer.from(JSON.stringify([revision, after])).toString("base64url");
}

export function decodeContinue(token: string): ContinueToken {
  try {
    const [revision, after] = JSON.parse(Buffer.from(token, "base64url").toString()) as [unknown, unknown];
    if (Number.isSafeInteger(revision) && (revision as number) > 0 && typeof after === "string") {
      return { revision: revision as number, after };
    }
  } catch {
    // A token that cannot be decoded gets the same error as one that decodes to something else.
  }
  throw badRequest("continue key is not valid: it must be one that an earlier list gave");
}
