import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { startPostgres } from "./postgres.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** URL of a Postgres server for all test files. */
    postgresUrl: string;
    /** Folder where the services that tests start keep their compiled modules: NODE_COMPILE_CACHE. */
    compiledModules: string;
  }
}

/** Starts one Postgres server for all test files of a project; returns how to stop it and remove what was shared. */
export default async function setup(project: TestProject) {
  const compiled = mkdtempSync(join(tmpdir(), "name-index-modules-"));
  project.provide("compiledModules", compiled);
  const server = await startPostgres();
  project.provide("postgresUrl", server.url);
  return async () => {
    await server.stop();
    rmSync(compiled, { recursive: true, force: true });
  };
}
