import type { Sandbox } from "@agent-sandbox/api";
import { faceLabel } from "../cluster/compat-annotations.ts";
import type { Target } from "../runtime/runtime.ts";
import type { EnvdContext } from "./envd/context.ts";
import { requireUnexpired, type SignedLink, signatureCheck } from "./envd/signed-link.ts";
import { daemonTokens } from "./tokens.ts";

/** A link on an address that all sandboxes share names none: the newest ones are tried. */
const maxTried = 1000;

interface Place {
  readonly name: string;
  readonly namespace: string | undefined;
}

/** The sandbox with whose token a link was signed, among all of them or those of a name. Throws 401 if the link has expired. */
export function findSigner(context: EnvdContext, link: SignedLink, place: Place | undefined): Target | undefined {
  const isSignedWith = signatureCheck(link);
  for (const candidate of candidates(context, place)) {
    const token = daemonTokens(context.tokens, candidate.sandbox, candidate).find(isSignedWith);
    if (token === undefined) continue;
    requireUnexpired(link, Date.now());
    const { namespace, name, sandbox } = candidate;
    return { namespace, name, uid: sandbox.metadata.uid ?? "", token };
  }
  return undefined;
}

interface Candidate {
  readonly namespace: string;
  readonly name: string;
  readonly sandbox: Sandbox;
}

function candidates({ directory }: EnvdContext, place: Place | undefined): readonly Candidate[] {
  const isWanted = (name: string, namespace: string): boolean =>
    place === undefined || (place.name === name && (place.namespace === undefined || place.namespace === namespace));
  const claims = directory.claims
    .list()
    .filter(({ metadata: { name = "", namespace = "", labels } }) => {
      return labels?.[faceLabel] === "e2b" && isWanted(name, namespace);
    })
    .toSorted((a, b) => createdAt(b) - createdAt(a))
    .slice(0, maxTried);
  return claims.flatMap(({ metadata: { name = "", namespace = "" } }) => {
    const sandbox = directory.machine(namespace, name)?.sandbox;
    return sandbox === undefined ? [] : [{ namespace, name, sandbox }];
  });
}

const createdAt = ({ metadata }: { readonly metadata: { readonly creationTimestamp?: string } }): number =>
  Date.parse(metadata.creationTimestamp ?? "") || 0;
