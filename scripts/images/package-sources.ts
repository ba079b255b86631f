import { execFileSync } from "node:child_process";

/**
 * The lines of apt's configuration on this machine that name Debian's archives of a suite. Empty on a machine without them: then
 * mmdebstrap uses Debian's own mirror.
 */
export function packageSources(suite: string): string[] {
  const format = "deb $(REPO_URI) $(RELEASE) $(COMPONENT)";
  const listed = execFileSync(
    "apt-get",
    ["indextargets", "--format", format, "Created-By: Packages", "Origin: Debian"],
    {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    },
  );
  const found = sourcesOf(listed, suite);
  return found.length === 0 ? [] : [found.join("\n")];
}

/** Of the lines of Debian's archives, those of the suite, its updates and its security updates. */
export function sourcesOf(listed: string, suite: string): string[] {
  const releases = [suite, `${suite}-updates`, `${suite}-security`];
  const wanted = listed.split("\n").filter((line) => {
    const [, , release = "", component] = line.split(" ");
    return releases.includes(release) && component === "main";
  });
  return [...new Set(wanted)].sort();
}
