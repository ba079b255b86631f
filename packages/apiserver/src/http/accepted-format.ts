/** The format of the response: YAML when the client lists it before any other supported format, otherwise JSON. */
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
