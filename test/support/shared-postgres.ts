import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { postgresPrograms, startPostgres } from "./postgres.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** URL of a Postgres server for all test files; empty where none is installed. */
    postgresUrl: string;
    /** Folder where the services that tests start keep their compiled modules: NODE_COMPILE_CACHE. */
    compiledModules: string;
  }
}

/** Starts one Postgres server for all test files of a project; returns how to stop it and remove what was shared. */
export default async function setup(project: TestProject) {
  const compiled = mkdtempSync(join(tmpdir(), "name-index-modules-"));
  project.provide("compiledModules", compiled);
  const stop = await shareServer(project);
  return async () => {
    await stop();
    rmSync(compiled, { recursive: true, force: true });
  };
}

async function shareServer(project: TestProject): Promise<() => Promise<void>> {
  const programs = postgresPrograms();
  if (programs === undefined) {
    console.log("No Postgres server is installed: tests of query plans do not run, others use PGlite.");
    project.provide("postgresUrl", "");
    return async () => {};
  }
  const server = await startPostgres(programs);
  project.provide("postgresUrl", server.url);
  return () => server.stop();
}
