/** Addresses of the pages of objects. */
interface Named {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}

export type Folder = "sandboxes" | "templates" | "pools" | "claims" | "snapshots";

export function hrefIn(folder: Folder, { namespace = "", name = "" }: Named): string {
  return `/${folder}/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}
