import { CommandError } from "../command-error.ts";
import type { Connection } from "./connect.ts";
import { fetchJson } from "./discovery.ts";
import { forwardPort } from "./forward-port.ts";

export interface RouterAddress extends AsyncDisposable {
  readonly url: string;
  /** The address is a local port that this program forwards. It exists as long as this program. */
  readonly isForwarded: boolean;
}

const systemNamespace = "agent-sandbox-system";
const service = "sandbox-router-svc";

/** The router at this address, otherwise that of the box, otherwise a port-forward to the router in the cluster. */
export async function findRouter(connection: Connection, given: string | undefined): Promise<RouterAddress> {
  const known = given === undefined ? connection.box?.routerUrl : checkUrl(given);
  if (known !== undefined) return { url: known, isForwarded: false, async [Symbol.asyncDispose]() {} };
  const { pod, port } = await routerPod(connection);
  const forwarded = await forwardPort(
    connection,
    systemNamespace,
    { name: pod, isAsleep: false },
    { local: 0, remote: port },
  );
  return {
    url: `http://${forwarded.address}`,
    isForwarded: true,
    [Symbol.asyncDispose]: () => forwarded[Symbol.asyncDispose](),
  };
}

function checkUrl(text: string): string {
  const url = URL.parse(text);
  if (url !== null && ["http:", "https:"].includes(url.protocol) && url.username === "") return url.origin;
  throw new CommandError(`Cannot use router "${text}": write its address, as in https://router.example.com`);
}

interface EndpointSlices {
  readonly items: readonly {
    readonly ports?: readonly { readonly port?: number }[] | null;
    readonly endpoints?:
      | readonly {
          readonly conditions?: { readonly ready?: boolean };
          readonly targetRef?: { readonly kind?: string; readonly name?: string };
        }[]
      | null;
  }[];
}

async function routerPod({ transport }: Connection): Promise<{ readonly pod: string; readonly port: number }> {
  const selector = encodeURIComponent(`kubernetes.io/service-name=${service}`);
  const path = `/apis/discovery.k8s.io/v1/namespaces/${systemNamespace}/endpointslices?labelSelector=${selector}`;
  const found = routerPodIn((await fetchJson(transport, path)) as EndpointSlices);
  if (found !== undefined) return found;
  throw new CommandError(
    `the cluster has no router that is ready (Service "${service}" in namespace "${systemNamespace}"): name its address with --router`,
  );
}

/** The first Pod of the Service that is ready. */
export function routerPodIn({ items }: EndpointSlices): { readonly pod: string; readonly port: number } | undefined {
  for (const { ports, endpoints } of items) {
    const [{ port } = {}] = ports ?? [];
    const { targetRef } =
      endpoints?.find(({ conditions, targetRef: to }) => conditions?.ready !== false && to?.kind === "Pod") ?? {};
    if (port !== undefined && targetRef?.name) return { pod: targetRef.name, port };
  }
  return undefined;
}
