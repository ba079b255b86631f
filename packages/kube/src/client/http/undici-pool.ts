// Bundlers turn `import("undici")` into a CommonJS module without named exports; importing this file avoids that.
export { Pool } from "undici";
