import type { TestProject } from "vitest/node";
import { postgresPrograms, startPostgres } from "./postgres.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** URL of a Postgres server for all test files; empty where none is installed. */
    postgresUrl: string;
  }
}

/** Starts one Postgres server for all test files of a project; returns how to stop it. */
export default async function setup(project: TestProject) {
  const programs = postgresPrograms();
  if (programs === undefined) {
    console.log("No Postgres server is installed: tests of query plans do not run, others use PGlite.");
    project.provide("postgresUrl", "");
    return undefined;
  }
  const server = await startPostgres(programs);
  project.provide("postgresUrl", server.url);
  return () => server.stop();
}
