import type { Command } from "commander";
import { withFolder } from "./options.ts";

/** Commands for the images of the box. */
export function declareImages(program: Command): void {
  const image = program
    .command("image")
    .description("Manage the images of the box. Works while the box is running or stopped")
    .addHelpText(
      "after",
      `
Two images are built in and need no registry: "host" contains the programs of this machine, and "sandboxd" the daemon that
runs inside sandboxes. To configure mirrors, registries without TLS and limits, write them to config.json in the data
folder, under "node.images".

Examples:
  agent-sandbox image pull debian:12
  agent-sandbox image load saved.tar
  docker save my-image | agent-sandbox image load -
  agent-sandbox image ls`,
    );

  withFolder(image.command("ls"))
    .description("List local images")
    .option("-o, --output <format>", "output format: json")
    .action(async (_options, command) => (await import("../commands/image.ts")).listImages(command.optsWithGlobals()));

  withFolder(image.command("pull"))
    .description("Pull an image from its registry")
    .argument("<name>", "image reference, as in debian:12, registry.example.com/team/app:tag or name@sha256:…")
    .option("--authfile <file>", "registry credentials in Docker's format, such as ~/.docker/config.json")
    .action(async (name, _options, command) =>
      (await import("../commands/image.ts")).pullImage(name, command.optsWithGlobals()),
    );

  withFolder(image.command("load"))
    .description("Load the images in an archive made by `docker save` or `skopeo copy … oci-archive:`")
    .argument("<file>", "the archive, or - for the standard input")
    .option("--name <name>", "tag for the image, if the archive contains exactly one")
    .action(async (file, _options, command) =>
      (await import("../commands/image.ts")).loadImages(file, command.optsWithGlobals()),
    );

  withFolder(image.command("rm"))
    .description("Remove a tag. The image is deleted when its last tag is removed and no sandbox uses it")
    .argument("<names...>", "tags, or IDs as shown by `image ls`")
    .action(async (names, _options, command) =>
      (await import("../commands/image.ts")).removeImages(names, command.optsWithGlobals()),
    );

  withFolder(image.command("prune"))
    .description("Remove untagged images that no sandbox uses")
    .option("-a, --all", "remove tagged images too")
    .action(async (_options, command) => (await import("../commands/image.ts")).pruneImages(command.optsWithGlobals()));
}
