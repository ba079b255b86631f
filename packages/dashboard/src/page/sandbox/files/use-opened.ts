/** The folder and the file that are shown. Both are in the address, so that the browser goes back to the folder before. */
import { useSearchParams } from "wouter";
import { readFolder } from "./folder/file-path.ts";

export interface Opened {
  readonly folder: string;
  readonly file: string | undefined;
  readonly openFolder: (folder: string) => void;
  readonly openFile: (file: string | undefined) => void;
}

export function useOpened(): Opened {
  // The hook decodes twice: a file named `%2e` would be another one. It tells when the address has changed.
  const [, setParams] = useSearchParams();
  const params = new URLSearchParams(location.search);
  const folder = readFolder(params.get("path") ?? "");
  const file = readFolder(params.get("file") ?? "");
  const set = (next: Readonly<Record<string, string>>): void => {
    const named = Object.entries(next).filter(([, value]) => value !== "");
    setParams({ view: "files", ...Object.fromEntries(named) });
  };
  return {
    folder,
    file: file === "" ? undefined : file,
    openFolder: (path) => set({ path }),
    openFile: (path = "") => set({ path: folder, file: path }),
  };
}
