export interface Part {
  readonly name: string;
  readonly filename?: string;
  readonly content: string;
}

/** A multipart form body. */
export function multipart(parts: readonly Part[]): { headers: Record<string, string>; body: string } {
  const boundary = "x-boundary-x";
  const sections = parts.map(({ name, filename, content }) => {
    const file = filename === undefined ? "" : `; filename="${filename}"`;
    return `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n${content}\r\n`;
  });
  return {
    headers: { "content-type": `multipart/form-data; boundary=${boundary}` },
    body: `${sections.join("")}--${boundary}--\r\n`,
  };
}
