// Bundlers turn `import("yaml")` into a CommonJS module without named exports; importing this file avoids that.
export { stringify } from "yaml";
