import { fixedCredential, HttpTransport } from "@agent-sandbox/kube";
import type { Server } from "../api/task.ts";

export function connect({ url, authority, token }: Server): HttpTransport {
  const credentials = fixedCredential({ authorization: `Bearer ${token}` });
  return new HttpTransport({ server: url, namespace: "default", tls: { ca: authority }, credentials });
}
