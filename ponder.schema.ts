export * from "./src/schema/ensv2.ts";
export * from "./src/schema/protocol-acceleration.ts";
export * from "./src/schema/registrars.ts";
export * from "./src/schema/subgraph.ts";
export * from "./src/schema/tokenscope.ts";
