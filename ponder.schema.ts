export * from "./src/schema/subgraph.ts";
