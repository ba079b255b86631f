import { ApiError } from "../api-error.ts";

/** How a client wants objects: whole, as the rows of a table, or their metadata alone. */
export type Representation =
  | { readonly as: "Object" }
  | { readonly as: "Table" | "PartialObjectMetadata" | "PartialObjectMetadataList"; readonly apiVersion: string };

const whole: Representation = { as: "Object" };
const parts = ["Table", "PartialObjectMetadata", "PartialObjectMetadataList"] as const;
const metaGroup = "meta.k8s.io";

/** What the server can write, and what it answers with JSON although it was asked for something else: see below. */
const written = ["application/json", "application/yaml"];
/** Clients that prefer it read JSON as well, by the type of the answer; hardly any of them says so. */
const unwritten = "application/vnd.kubernetes.protobuf";

/** The first of the wanted representations that the server has; an error when there is none. */
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

/** More than any client names; the rest is not looked at. */
const maxClauses = 64;

/** The clauses of an `Accept` header, the most wanted first. */
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
