import { ApiError } from "../api-error.ts";

/** The representation of objects: complete, as rows of a table, or only their metadata. */
export type Representation =
  | { readonly as: "Object" }
  | { readonly as: "Table" | "PartialObjectMetadata" | "PartialObjectMetadataList"; readonly apiVersion: string };

const whole: Representation = { as: "Object" };
const parts = ["Table", "PartialObjectMetadata", "PartialObjectMetadataList"] as const;
const metaGroup = "meta.k8s.io";

/** The formats that the server can write. */
const written = ["application/json", "application/yaml"];
/** Answered with JSON: clients that prefer protobuf also accept JSON, though few list it. */
const unwritten = "application/vnd.kubernetes.protobuf";

/** The first supported representation in the Accept header. Throws `NotAcceptable` when there is none. */
export function negotiate(accept: string | undefined): Representation {
  if (accept === undefined || accept === "" || accept === "application/json") return whole;
  for (const { media, parameters } of clausesOf(accept)) {
    const representation = offer(media, parameters);
    if (representation !== undefined) return representation;
  }
  throw new ApiError("NotAcceptable", `only the following media types are accepted: ${written.join(", ")}`);
}

function offer(media: string, parameters: ReadonlyMap<string, string>): Representation | undefined {
  const known = media === "*/*" || media === "application/*" || media === unwritten || written.includes(media);
  if (!known) return undefined;
  const [as, group, version] = ["as", "g", "v"].map((key) => parameters.get(key));
  if (as === undefined && group === undefined && version === undefined) return whole;
  const part = parts.find((each) => each === as);
  const served = group === metaGroup && (version === "v1" || version === "v1beta1");
  if (part === undefined || !served || (part === "Table" && media === unwritten)) return undefined;
  return { as: part, apiVersion: `${metaGroup}/${version}` };
}

interface Clause {
  readonly media: string;
  readonly parameters: ReadonlyMap<string, string>;
}

/** More than any client sends. Further clauses are ignored. */
const maxClauses = 64;

/** The clauses of an `Accept` header by preference. */
function clausesOf(accept: string): Clause[] {
  const clauses = accept.split(",", maxClauses).map((text): Clause => {
    const [media = "", ...parameters] = text.split(";").map((part) => part.trim());
    const pairs = parameters.map((parameter): [string, string] => {
      const mark = parameter.indexOf("=");
      return [parameter.slice(0, mark), parameter.slice(mark + 1)];
    });
    return { media: media.toLowerCase(), parameters: new Map(pairs) };
  });
  return clauses.sort((left, right) => weight(right) - weight(left));
}

function weight({ parameters }: Clause): number {
  const quality = Number(parameters.get("q") ?? 1);
  return Number.isNaN(quality) ? 1 : quality;
}
