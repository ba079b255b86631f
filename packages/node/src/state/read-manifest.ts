import {
  type ArchivedContainer,
  type ArchiveMember,
  archiveFormat,
  depths,
  invalid,
  isLabel,
  type Manifest,
  parseMemberName,
} from "./archive-format.ts";

/** Pods have few containers and volumes. */
const mostMembers = 200;
const mostContainers = 100;
const longestText = 1024;

type Fields = Readonly<Record<string, unknown>>;

/** Reads the manifest of an archive. Whoever made it may be hostile, so only known fields are taken over. Throws `ArchiveInvalid`. */
export function readManifest(text: string): Manifest {
  const found = fieldsOf(parse(text), "manifest");
  if (found["format"] !== archiveFormat) throw invalid("it is not the archive of a snapshot");
  if (found["version"] !== 1)
    throw invalid(`it has the format version ${JSON.stringify(found["version"])?.slice(0, 20)}`);
  const members = listOf(found["members"], "members", mostMembers).map(readMember);
  const names = new Set(members.map(({ name }) => name));
  if (names.size !== members.length) throw invalid("the manifest names a member twice");
  const totalBytes = members.reduce((sum, { bytes }) => sum + bytes, 0);
  if (found["totalBytes"] !== totalBytes) throw invalid("the manifest has another total size than its members");
  const snapshot = readSnapshot(fieldsOf(found["snapshot"], "snapshot"));
  const image = found["image"] === undefined ? undefined : readImage(fieldsOf(found["image"], "image"));
  const omitted = count(found["omitted"], "omitted");
  const manifest = {
    format: archiveFormat,
    version: 1,
    snapshot,
    ...(image && { image }),
    omitted,
    members,
    totalBytes,
  } as const;
  checkDepth(manifest);
  return manifest;
}

/** A snapshot with memory has a checkpoint and its description, and one without has neither. Each container has a layer. */
function checkDepth({ snapshot, image, members }: Manifest): void {
  const places = members.flatMap(({ name }) => parseMemberName(name) ?? []);
  const files = places.flatMap((place) => (place.kind === "checkpoint" ? [place.file] : []));
  const hasMemory = snapshot.depth === "Memory";
  const isWhole = ["checkpoint.img", "pages.img", "pages_meta.img"].every((file) => files.includes(file));
  if (hasMemory !== (image !== undefined) || (hasMemory ? !isWhole : files.length > 0)) {
    throw invalid(`its members do not belong to a snapshot of depth ${snapshot.depth}`);
  }
  const layers = places.flatMap((place) => (place.kind === "layers" ? [place.name] : []));
  if (
    layers.toSorted().join() !==
    snapshot.containers
      .map(({ name }) => name)
      .toSorted()
      .join()
  ) {
    throw invalid("its layers are not those of its containers");
  }
  const volumes = places.flatMap((place) => (place.kind === "volumes" ? [place.name] : []));
  if (!snapshot.memoryVolumes.every((name) => volumes.includes(name))) {
    throw invalid("the manifest names a volume that the archive does not have");
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw invalid("its manifest is not valid JSON", error);
  }
}

function readMember(value: unknown): ArchiveMember {
  const { name, bytes, sha256 } = fieldsOf(value, "member");
  if (typeof name !== "string" || parseMemberName(name) === undefined) {
    throw invalid(`the manifest names the invalid member ${JSON.stringify(name).slice(0, 200)}`);
  }
  if (typeof sha256 !== "string" || !/^[0-9a-f]{64}$/.test(sha256))
    throw invalid(`the checksum of "${name}" is invalid`);
  return { name, bytes: count(bytes, `size of "${name}"`), sha256 };
}

function readSnapshot(found: Fields): Manifest["snapshot"] {
  const depth = depths.find((one) => one === found["depth"]);
  if (depth === undefined) throw invalid("the depth of the snapshot is unknown");
  const runtime = fieldsOf(found["runtime"], "runtime");
  const containers = listOf(found["containers"], "containers", mostContainers).map((value) => {
    const { name, reference, image } = fieldsOf(value, "container");
    return { name: labelOf(name, "container"), reference: word(reference, "image"), image: word(image, "image id") };
  });
  return {
    name: word(found["name"], "name"),
    namespace: labelOf(found["namespace"], "namespace"),
    sandbox: word(found["sandbox"], "Sandbox"),
    depth,
    epoch: count(found["epoch"], "epoch"),
    runtime: { name: word(runtime["name"], "runtime"), version: word(runtime["version"], "version") },
    containers,
    pauseMs: count(found["pauseMs"], "pause"),
    createdAt: count(found["createdAt"], "time"),
    memoryVolumes: listOf(found["memoryVolumes"], "volumes", mostMembers).map((name) => labelOf(name, "volume")),
  };
}

function readImage(found: Fields): NonNullable<Manifest["image"]> {
  const build = fieldsOf(found["build"], "build");
  const containers = Object.entries(fieldsOf(found["containers"], "containers"));
  if (containers.length > mostContainers) throw invalid(`it has more than ${mostContainers} containers`);
  return {
    runtime: word(found["runtime"], "runtime"),
    build: { version: word(build["version"], "version"), sha256: word(build["sha256"], "build") },
    cpu: word(found["cpu"], "processor"),
    specHash: word(found["specHash"], "spec"),
    identity: found["identity"] === true,
    savedAt: count(found["savedAt"], "time"),
    containers: Object.fromEntries(containers.map(([name, value]) => [containerName(name), readContainer(value)])),
  };
}

function readContainer(value: unknown): ArchivedContainer {
  const found = fieldsOf(value, "container");
  const ended = found["ended"] === undefined ? undefined : fieldsOf(found["ended"], "container");
  const reasons = ["Completed", "Error", "OOMKilled", "ContainerStatusUnknown"] as const;
  const reason = reasons.find((one) => one === ended?.["reason"]) ?? "ContainerStatusUnknown";
  return {
    attempt: count(found["attempt"], "attempt"),
    runtime: word(found["runtime"], "runtime"),
    startedAt: count(found["startedAt"], "time"),
    hooked: found["hooked"] === true,
    ...(ended && {
      ended: {
        exitCode: count(ended["exitCode"], "exit code"),
        reason,
        startedAt: count(ended["startedAt"], "time"),
        finishedAt: count(ended["finishedAt"], "time"),
      },
    }),
  };
}

/** The holder of a sandbox has a name that no container of a Pod can have. */
function containerName(name: string): string {
  if (isLabel(name) || /^[-_a-z0-9]{1,63}$/.test(name)) return name;
  throw invalid("the name of a container is invalid");
}

function fieldsOf(value: unknown, what: string): Fields {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Fields;
  throw invalid(`the field "${what}" of the manifest is missing or invalid`);
}

function listOf(value: unknown, what: string, most: number): readonly unknown[] {
  if (Array.isArray(value) && value.length <= most) return value;
  throw invalid(`the list "${what}" of the manifest is missing or invalid`);
}

function count(value: unknown, what: string): number {
  if (Number.isSafeInteger(value) && Number(value) >= 0) return Number(value);
  throw invalid(`the ${what} in the manifest is invalid`);
}

function word(value: unknown, what: string): string {
  if (typeof value === "string" && value.length <= longestText && !/\p{Cc}/u.test(value)) return value;
  throw invalid(`the ${what} in the manifest is invalid`);
}

function labelOf(value: unknown, what: string): string {
  if (isLabel(value)) return value;
  throw invalid(`the name of a ${what} in the manifest is invalid`);
}
