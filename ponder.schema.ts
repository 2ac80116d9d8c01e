export * from "./src/schema/registrars.ts";
export * from "./src/schema/subgraph.ts";
