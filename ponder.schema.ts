export * from "./src/schema/subgraph.ts";
export * from "./src/schema/registrars.ts";
