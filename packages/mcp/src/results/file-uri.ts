/** The address of a file as a resource. */
export function fileUri(
  { namespace, name }: { readonly namespace: string; readonly name: string },
  path: string,
): string {
  const names = path.split("/").filter((each) => each !== "" && each !== ".");
  return `${sandboxUri({ namespace, name })}/files/${names.map(encodeURIComponent).join("/")}`;
}

export function sandboxUri({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return `sandbox://${namespace}/${name}`;
}
