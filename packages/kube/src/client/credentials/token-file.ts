import { readFile } from "node:fs/promises";
import { type Clock, systemClock } from "../../clock.ts";
import { KubeError } from "../../errors.ts";
import type { Credential, CredentialSource } from "../http/cluster-access.ts";

/** Kubernetes replaces a Pod's token at 80 % of its lifetime, which is at least an hour, so a minute of delay is safe. */
const readAgainAfterMs = 60_000;
/** Tokens are sent in a header, and servers accept 16 KiB of headers. */
const longestToken = 16_384;

/** A bearer token from a file that is replaced from time to time. The last token is used while the file is unreadable. */
export function tokenFileCredentials(path: string, clock: Clock = systemClock): CredentialSource {
  let known: { readonly credential: Credential; readonly readAt: number } | undefined;

  const read = async (): Promise<Credential> => {
    const result = await readToken(path);
    if ("error" in result && known === undefined) throw new KubeError("Unreachable", result.error);
    const credential = "token" in result ? { authorization: `Bearer ${result.token}` } : known?.credential;
    known = { credential: credential ?? {}, readAt: clock.now() };
    return known.credential;
  };

  return {
    get: async () => (known && clock.now() - known.readAt < readAgainAfterMs ? known.credential : read()),
    renew: read,
  };
}

async function readToken(path: string): Promise<{ token: string } | { error: string }> {
  let token: string;
  try {
    token = (await readFile(path, "utf8")).trim();
  } catch (error) {
    return { error: `Cannot read the token file "${path}": ${(error as Error).message}` };
  }
  if (token === "") return { error: `Cannot use the token file "${path}": it is empty` };
  if (token.length > longestToken || !/^[\x21-\x7e]+$/.test(token)) {
    return { error: `Cannot use the token file "${path}": it does not contain a bearer token` };
  }
  return { token };
}
