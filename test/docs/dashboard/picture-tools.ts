import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";

const packages = [
  "fonts-inter",
  "fonts-jetbrains-mono",
  // A program with its libraries.
  "pngquant",
  "libimagequant0",
  "libpng16-16",
  "liblcms2-2",
  "libgomp1",
];

export interface PictureTools {
  /** For `XDG_DATA_HOME`: the fonts that the page prefers, because pictures should not depend on those of this machine. */
  readonly fonts: string;
  /** Makes a PNG smaller in place. No difference can be seen. */
  readonly shrink: (file: string) => void;
}

/** Downloads Debian packages into a folder, and unpacks them there. Nothing is installed. */
export function pictureTools(folder: string): PictureTools {
  const [archives, unpacked] = [join(folder, "archives"), join(folder, "unpacked")];
  mkdirSync(archives, { recursive: true });
  if (readdirSync(archives).length !== packages.length) {
    execFileSync("apt-get", ["download", ...packages], { cwd: archives, stdio: "ignore" });
  }
  for (const name of readdirSync(archives)) execFileSync("dpkg-deb", ["-x", join(archives, name), unpacked]);
  const libraries = readdirSync(join(unpacked, "usr/lib")).map((name) => join(unpacked, "usr/lib", name));
  const env = { ...process.env, LD_LIBRARY_PATH: libraries.join(":") };
  return {
    fonts: join(unpacked, "usr/share"),
    shrink: (file) => {
      const options = ["--quality", "80-98", "--speed", "3", "--strip", "--force", "--output", file];
      execFileSync(join(unpacked, "usr/bin/pngquant"), [...options, "256", file], { env });
    },
  };
}
