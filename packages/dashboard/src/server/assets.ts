import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

export interface Asset {
  readonly type: string;
  readonly content: Buffer;
  readonly compressed: Buffer;
}

const types: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
};

/** The built page. All files are read at the start, so that no request names a path of the machine. */
export class Assets {
  /** Undefined if the page was not built. */
  readonly page: string | undefined;
  readonly #files = new Map<string, Asset>();

  constructor(folder: string) {
    if (!existsSync(join(folder, "index.html"))) return;
    this.page = readFileSync(join(folder, "index.html"), "utf8");
    for (const name of readdirSync(folder)) {
      const type = types[name.slice(name.lastIndexOf(".") + 1)];
      if (type === undefined) continue;
      const content = readFileSync(join(folder, name));
      this.#files.set(name, { type, content, compressed: gzipSync(content, { level: 9 }) });
    }
  }

  find(name: string): Asset | undefined {
    return this.#files.get(name);
  }
}
