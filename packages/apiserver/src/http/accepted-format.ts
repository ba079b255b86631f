/** In which format to answer: YAML when the client names it before any other that we have, JSON in every other case. */
export function acceptedFormat(accept: string | undefined): "json" | "yaml" {
  if (accept === undefined || !/yaml/i.test(accept)) return "json";
  for (const clause of accept.toLowerCase().split(",")) {
    switch (clause.split(";", 1)[0]?.trim()) {
      case "application/yaml":
        return "yaml";
      case "application/json":
      case "application/*":
      case "*/*":
        return "json";
      default:
        continue;
    }
  }
  return "json";
}
