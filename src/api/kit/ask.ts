import type { Context } from "hono";

/** Requests a path of this service by GET, or by POST with a body, for the client of the request `c`. */
export type AskPath = (path: string, c: Context, body?: object) => Promise<{ status: number; body: unknown }>;

/** A member of a body by its path (`a.b`); undefined if there is none. */
export const memberOf = (body: unknown, path: string): unknown =>
  path.split(".").reduce<unknown>((value, key) => (value as Record<string, unknown> | null)?.[key], body);
