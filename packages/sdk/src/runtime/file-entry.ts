export type FileType = "file" | "directory" | "symlink" | "other";

export interface FileEntry {
  readonly name: string;
  readonly size: number;
  readonly type: FileType;
  /** As in `0644`. */
  readonly mode: string;
  readonly modifiedAt: Date;
}

export interface FileInfo extends FileEntry {
  readonly path: string;
  readonly uid: number;
  readonly gid: number;
  /** Changes with the content. */
  readonly etag: string;
  /** Of a symbolic link. */
  readonly target?: string;
}

export interface FileChange {
  readonly type: "created" | "modified" | "attributes" | "deleted" | "overflow";
  readonly path: string;
}

/** An entry as sandboxd sends it. */
export interface WireEntry {
  readonly name: string;
  readonly size: number;
  readonly type: string;
  readonly mode: string;
  readonly modified_at: string;
}

export interface WireInfo extends WireEntry {
  readonly path: string;
  readonly uid: number;
  readonly gid: number;
  readonly etag: string;
  readonly target?: string;
}

export function entryOf({ name, size, type, mode, modified_at }: WireEntry): FileEntry {
  return { name, size, type: type as FileType, mode, modifiedAt: new Date(modified_at) };
}

export function infoOf(info: WireInfo): FileInfo {
  const { path, uid, gid, etag, target } = info;
  return { ...entryOf(info), path, uid, gid, etag, ...(target !== undefined && { target }) };
}
