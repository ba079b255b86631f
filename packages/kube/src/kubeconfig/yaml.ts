// Bundlers turn `import("yaml")` into a CommonJS module without named exports; importing this file avoids that.
export { parseDocument } from "yaml";
