import type { ImageConfig } from "../oci/build-spec.ts";
import type { ImageDescription } from "./manifest.ts";

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Converts an image's configuration to the defaults of its containers. */
export function configOf(description: ImageDescription): ImageConfig {
  const { entrypoint, command, environment, user, workingDir, stopSignal } = description;
  const variables = environment.map((text): [string, string] => {
    const [name = "", ...value] = text.split("=");
    return [name, value.join("=")];
  });
  return {
    entrypoint,
    command,
    environment: new Map([["PATH", defaultPath], ...variables.filter(([name]) => name !== "")]),
    workingDir: workingDir.startsWith("/") ? workingDir : `/${workingDir}`,
    ...(user !== "" && { user }),
    ...(stopSignal !== "" && { stopSignal }),
    mounts: [],
  };
}
