import type { DashboardBox, Wanted } from "./dashboard-box.ts";
import { hostileLine } from "./hostile-content.ts";

export const namespace = "default";

/** A sandbox with sandboxd that only waits. */
export function idleSandbox(name: string): Wanted {
  const container = { name: "main", image: "host", command: ["sleep", "infinity"] };
  return {
    apiVersion: "agents.x-k8s.io/v1beta1",
    kind: "Sandbox",
    metadata: { name, namespace },
    spec: { runtime: "Injected", podTemplate: { spec: { containers: [container] } } },
  };
}

/** Runs a program of Python in /workspace of a sandbox. Returns what it prints. */
export async function runPython(box: DashboardBox, sandbox: string, program: string): Promise<string> {
  return box.runWith(
    program,
    "exec",
    "-i",
    sandbox,
    "-n",
    namespace,
    "--",
    "sh",
    "-c",
    "cd /workspace && exec python3 -",
  );
}

/** Names that Linux allows, and how the page writes them. */
export const hostileNames: readonly (readonly [name: string, shown: string])[] = [
  [markupName(), markupName()],
  ["a\nb", "a\\nb"],
  ["\u001b]0;title\u0007", "\\u001b]0;title\\u0007"],
  ["\u202etxt.exe", "\\u202etxt.exe"],
  ["W".repeat(255), "W".repeat(255)],
  ["--help", "--help"],
  ["%2e%2e", "%2e%2e"],
  ["..%2f..%2fetc%2fpasswd", "..%2f..%2fetc%2fpasswd"],
  ["..;", "..;"],
  ["con#x?y&z=1", "con#x?y&z=1"],
  ["C:\\x", "C:\\x"],
  ["ä\u0308\u{1f600}", "ä\u0308\u{1f600}"],
  ["\u{e0041}tag", "\\u{e0041}tag"],
];

function markupName(): string {
  return hostileLine.replaceAll("/", "∕").replaceAll("\u202e", "").replaceAll("\u2066", "").slice(0, 180);
}

/** What the file of this name contains. */
export const contentOf = (index: number): string => `content ${index} <script>window.__pwned=1</script>`;

/** Writes files with hostile names and contents, and links to places outside. */
export const hostileFiles = `
import os, struct, zlib
os.makedirs("hostile/inside", exist_ok=True)
os.chdir("hostile")
for index, name in enumerate(${JSON.stringify(hostileNames.map(([name]) => name))}):
    with open(name, "w") as file: file.write(f"content {index} <script>window.__pwned=1</script>")
with open(b"not-utf-8-\\xff\\xfe", "w") as file: file.write("x")
with open("picture.svg", "w") as file: file.write("<svg xmlns='http://www.w3.org/2000/svg' onload='window.__pwned=1'><script>window.__pwned=1</script></svg>")
with open("page.png", "w") as file: file.write("<!doctype html><script>window.__pwned=1</script>")
with open("hidden.txt", "w") as file: file.write("if (admin\\u202e) { \\x1b[2J }")
with open("device.bin", "wb") as file: file.write(bytes(range(256)))
header = struct.pack(">IIBBBBB", 60000, 60000, 8, 6, 0, 0, 0)
chunk = b"IHDR" + header
with open("bomb.png", "wb") as file: file.write(b"\\x89PNG\\r\\n\\x1a\\n" + struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk)))
os.symlink("/etc", "outside")
os.symlink("/etc/passwd", "passwd")
os.symlink("loop", "loop")
os.symlink("inside", "link-to-inside")
os.mkfifo("pipe")
os.utime("device.bin", (-10**11, 10**12))
os.chdir("..")
os.makedirs("many", exist_ok=True)
for index in range(5100): open(f"many/{index}", "w").close()
`;

/** A PNG of some pixels. */
export const smallPng: Buffer = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAIAAAACUFjqAAAAEklEQVR4nGP8z4APMOGVHbHSAEEsAROxCnMTAAAAAElFTkSuQmCC",
  "base64",
);
