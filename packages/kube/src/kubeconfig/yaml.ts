// A bundler that meets `import("yaml")` gives a CommonJS module without named exports; one that meets this does not.
export { parseDocument } from "yaml";
