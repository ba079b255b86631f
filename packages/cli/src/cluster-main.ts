import { reportFailure } from "./report-failure.ts";
import { version } from "./version.ts";

// The program of the image for clusters: only the manager and the router, without the box and the commands.
const [command = "", ...flags] = process.argv.slice(2);
try {
  switch (command) {
    case "manager":
      await (await import("./commands/manager.ts")).manager(flags, version);
      break;
    case "router":
      await (await import("./commands/router.ts")).router(flags, version);
      break;
    default:
      console.error(`error: unknown command "${command}": this image contains "manager" and "router"`);
      process.exitCode = 2;
  }
} catch (error) {
  process.exitCode = reportFailure(error);
}
