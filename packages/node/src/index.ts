export { Exec } from "./exec/exec.ts";
