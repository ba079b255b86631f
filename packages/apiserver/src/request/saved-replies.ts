import { toVersion } from "../resources/versions.ts";
import type { Stored } from "../store/store.ts";
import type { ObjectReply } from "./api-request.ts";
import type { Target } from "./target.ts";

/** Whether an object was saved in the requested version. Its JSON starts with the version. */
function isSavedAs({ json }: Stored, apiVersion: string): boolean {
  return json.startsWith(`{"apiVersion":"${apiVersion}",`);
}

/** A stored object: sent as its saved JSON over HTTPS, and as an object within the process. */
export function savedReply(stored: Stored, { definition, version }: Target): ObjectReply {
  const reply = { kind: "object", status: 200, headers: {} } as const;
  if (!isSavedAs(stored, version.apiVersion)) {
    return { ...reply, body: toVersion(definition, stored.object, version) };
  }
  return {
    ...reply,
    get body() {
      return stored.object;
    },
    json: stored.json,
  };
}

/** The JSON of a list, joined from the saved JSON of its items, or `undefined` when one was saved in another version. */
export function savedListText(list: object, items: readonly Stored[], { version }: Target): string | undefined {
  if (!items.every((stored) => isSavedAs(stored, version.apiVersion))) return undefined;
  const head = JSON.stringify(list).slice(0, -1);
  return `${head},"items":[${items.map(({ json }) => json).join(",")}]}`;
}
