import type { IncomingMessage } from "node:http";
import { HttpRefusal } from "./http-refusal.ts";

export const metadataPath = "/.well-known/oauth-protected-resource/mcp";
const scope = "sandboxes";

/** RFC 9728: how a client authenticates. Needs no token itself. */
export function resourceMetadata(host: string): object {
  return {
    resource: `http://${host}/mcp`,
    resource_name: "Agent Sandbox",
    bearer_methods_supported: ["header"],
    scopes_supported: [scope],
  };
}

/** A service account's token has about a thousand bytes. */
const longestToken = 32_768;

/** The bearer token of a request. It is never taken from the address, which ends in logs. */
export function tokenOf({ headers }: IncomingMessage): string {
  const [, token] = /^Bearer +([\x21-\x7e]+) *$/i.exec(headers.authorization ?? "") ?? [];
  if (token !== undefined && token.length <= longestToken) return token;
  throw unauthorized(headers.host ?? "", "The request has no bearer token");
}

/** Tells the client where it finds the metadata. */
export function unauthorized(host: string, message: string): HttpRefusal {
  const challenge = `Bearer resource_metadata="http://${host}${metadataPath}", scope="${scope}"`;
  return new HttpRefusal(401, message, { headers: { "www-authenticate": challenge } });
}
