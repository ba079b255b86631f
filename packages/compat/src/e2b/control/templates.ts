import { type SandboxTemplate, sandboxSnapshots, sandboxTemplates } from "@agent-sandbox/api";
import { faceLabel } from "../../cluster/compat-annotations.ts";
import { find } from "../../cluster/machine.ts";
import { isName } from "../../cluster/names.ts";
import { notFound } from "../../http/http-error.ts";
import { sendEmpty, sendJson } from "../../http/reply.ts";
import { envdVersion } from "../version.ts";
import type { ControlCall } from "./context.ts";

/** `GET /templates` */
export async function listTemplates({ account, response }: ControlCall): Promise<void> {
  const { client, namespace } = account;
  const { items } = await client.list(sandboxTemplates, { namespace });
  sendJson(response, 200, items.map(templateJson));
}

/** `GET /templates/aliases/{alias}` */
export async function findAlias({ account, response, params }: ControlCall): Promise<void> {
  const [name = ""] = params;
  const { client, namespace } = account;
  const found = isName(name) ? await find(client, sandboxTemplates, { namespace, name }) : undefined;
  if (found === undefined) throw notFound(`template '${name.slice(0, 64)}' not found`);
  sendJson(response, 200, { templateID: name, public: false });
}

/** `DELETE /templates/{id}` deletes a snapshot. Templates are managed as SandboxTemplates. */
export async function deleteTemplate({ account, response, params }: ControlCall): Promise<void> {
  const [name = ""] = params;
  const { client, namespace } = account;
  const found = isName(name) ? await find(client, sandboxSnapshots, { namespace, name }) : undefined;
  const isGone = found?.metadata.deletionTimestamp !== undefined;
  if (isGone || found?.metadata.labels?.[faceLabel] !== "e2b")
    throw notFound(`snapshot '${name.slice(0, 64)}' not found`);
  await client.delete(sandboxSnapshots, { namespace, name }, { preconditions: { uid: found.metadata.uid ?? "" } });
  sendEmpty(response, 204);
}

/** The clients require every field. */
function templateJson({ metadata }: SandboxTemplate): object {
  const { name = "", uid = "", creationTimestamp = "" } = metadata;
  return {
    templateID: name,
    buildID: uid,
    cpuCount: 1,
    memoryMB: 128,
    diskSizeMB: 0,
    public: false,
    aliases: [name],
    names: [name],
    createdAt: creationTimestamp,
    updatedAt: creationTimestamp,
    createdBy: null,
    lastSpawnedAt: null,
    spawnCount: 0,
    buildCount: 1,
    envdVersion,
    buildStatus: "ready",
  };
}
