/**
 * The password of `Basic <user>:<password>`, which is a token: clients that cannot set headers take it from a URL or a netrc
 * file. The user does not matter. Undefined if the header is not valid, or the password is empty.
 */
export function basicToken(authorization: string | undefined): string | undefined {
  const [scheme = "", encoded = "", ...rest] = (authorization ?? "").trim().split(/ +/);
  if (scheme.toLowerCase() !== "basic" || rest.length > 0 || !isBase64(encoded)) return undefined;
  const pair = Buffer.from(encoded, "base64").toString();
  const colon = pair.indexOf(":");
  const password = colon === -1 ? "" : pair.slice(colon + 1);
  return isPrintable(password) ? password : undefined;
}

/** `Buffer.from` ignores characters that are not base64, and so would accept several spellings of a header. */
const isBase64 = (text: string): boolean => /^[A-Za-z0-9+/]+={0,2}$/.test(text) && text.length % 4 === 0;

/** Tokens consist of visible ASCII characters. */
const isPrintable = (text: string): boolean => /^[!-~]+$/.test(text);
