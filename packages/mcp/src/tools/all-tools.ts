import {
  deleteSandboxTool,
  extendSandboxTool,
  forkSandboxTool,
  pauseSandboxTool,
  resumeSandboxTool,
} from "./change-sandbox.ts";
import { createSandboxTool } from "./create-sandbox.ts";
import { exposePortTool } from "./expose-port.ts";
import { listFilesTool } from "./list-files.ts";
import { listSandboxesTool } from "./list-sandboxes.ts";
import { listTemplatesTool } from "./list-templates.ts";
import { killProcessTool, readProcessTool, writeProcessTool } from "./processes.ts";
import { readFileTool } from "./read-file.ts";
import { runCodeTool } from "./run-code.ts";
import { runCommandTool } from "./run-command.ts";
import { sandboxStatusTool } from "./sandbox-status.ts";
import { searchFilesTool } from "./search-files.ts";
import type { Tool } from "./tool.ts";
import { deleteFileTool, editFileTool, makeDirectoryTool, moveFileTool, writeFileTool } from "./write-files.ts";

/** Sorted by name, so that clients that cache the list see the same bytes every time. */
export const allTools: readonly Tool[] = [
  createSandboxTool,
  deleteFileTool,
  deleteSandboxTool,
  editFileTool,
  exposePortTool,
  extendSandboxTool,
  forkSandboxTool,
  killProcessTool,
  listFilesTool,
  listSandboxesTool,
  listTemplatesTool,
  makeDirectoryTool,
  moveFileTool,
  pauseSandboxTool,
  readFileTool,
  readProcessTool,
  resumeSandboxTool,
  runCodeTool,
  runCommandTool,
  sandboxStatusTool,
  searchFilesTool,
  writeFileTool,
  writeProcessTool,
].toSorted((a, b) => (a.name < b.name ? -1 : 1));
