import { parseAllDocuments } from "yaml";
import type { SetUpStep } from "./case.ts";
import { exchange } from "./exchange.ts";
import type { Server } from "./servers.ts";

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
}

/** Creates the objects of a step in a namespace, one after the other. */
export async function setUp({ setUp: text }: SetUpStep, server: Server, namespace: string): Promise<void> {
  for (const document of parseAllDocuments(text)) {
    const body = document.toJS() as Manifest;
    const { status, body: answer } = await exchange({ method: "POST", path: pathOf(body, namespace), body }, server);
    if (status !== 201) throw new Error(`Cannot create ${body.kind}: ${status} ${JSON.stringify(answer)}`);
  }
}

/** All kinds of the manifests have regular plurals. */
function pathOf({ apiVersion, kind }: Manifest, namespace: string): string {
  const plural = `${kind.toLowerCase()}${/[sx]$/.test(kind) ? "es" : "s"}`;
  return `/${apiVersion.includes("/") ? "apis" : "api"}/${apiVersion}/namespaces/${namespace}/${plural}`;
}
