// A bundler that meets `import("undici")` gives a CommonJS module without named exports; one that meets this does not.
export { Pool } from "undici";
