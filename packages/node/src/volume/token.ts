import type { Pod } from "@agent-sandbox/api";
import { messageOf, NodeError } from "../errors.ts";
import { membersOf } from "../pod/members.ts";
import { accountTokens } from "../resources.ts";
import type { Payload } from "./payload.ts";
import type { VolumeContext } from "./volume-kind.ts";

interface TokenWanted {
  readonly audience?: string;
  readonly expirationSeconds?: number;
  readonly path: string;
}

const defaultSeconds = 3600;
/** A token is renewed after this part of its lifetime, as the kubelet does, so that readers never see an expired one. */
const refreshAfter = 0.8;

/** Requests a token of the Pod's service account. It becomes invalid when the Pod is deleted. */
export async function tokenPayload(
  { audience, expirationSeconds = defaultSeconds, path }: TokenWanted,
  mode: number,
  { client, pod, machine }: VolumeContext,
): Promise<{ payload: Payload; refreshAt: number }> {
  const { namespace = "", name = "", uid = "" } = pod.metadata ?? {};
  const account = pod.spec?.serviceAccountName ?? "default";
  const request = {
    metadata: { namespace, name: account },
    spec: {
      audiences: audience ? [audience] : [],
      expirationSeconds,
      boundObjectRef: { apiVersion: "v1", kind: "Pod", name, uid } as const,
    },
  };
  try {
    const { status } = await client.create(accountTokens, request, { subresource: "token" });
    if (status === undefined) throw new Error("the response contains no token");
    const lifeMs = Date.parse(status.expirationTimestamp) - machine.now();
    const owner = ownerOf(pod);
    const file = { content: Buffer.from(status.token), mode: owner.mode ?? mode, ...owner };
    return { payload: new Map([[path, file]]), refreshAt: machine.now() + Math.max(1000, lifeMs * refreshAfter) };
  } catch (error) {
    const message = `failed to fetch a token of service account "${namespace}/${account}": ${messageOf(error)}`;
    throw new NodeError("FailedMount", message, { cause: error });
  }
}

/** A token is readable only for the Pod's user or `fsGroup` if there is one. Otherwise it has the mode of the volume. */
function ownerOf(pod: Pod): { mode?: number; uid?: number } {
  const shared = pod.spec?.securityContext;
  const users = new Set(
    membersOf(pod).map(({ container }) => container.securityContext?.runAsUser ?? shared?.runAsUser),
  );
  const [user] = users;
  if (users.size === 1 && user !== undefined) return { mode: 0o600, uid: user };
  return shared?.fsGroup === undefined ? {} : { mode: 0o600 };
}
