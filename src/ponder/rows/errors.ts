import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { z } from "zod/v4";
import { expectOfPonder } from "../expected.ts";

type ErrorClass = new (message: string) => Error;
const errorClass = z.custom<ErrorClass>((value) => typeof value === "function");
const classes = z.object({
  RetryableError: errorClass,
  NonRetryableUserError: errorClass,
  RecordNotFoundError: errorClass,
});

/** A module of Ponder's that it does not export, by its path under `dist/esm`. */
export function moduleOfPonder<Parts>(parts: z.ZodType<Parts>, path: string): Parts {
  const place = new URL(`../../../node_modules/ponder/dist/esm/${path}`, import.meta.url);
  // ponder: Vite, with which `dev` loads this file, would give import() another instance of the module.
  return expectOfPonder(parts, createRequire(import.meta.url)(fileURLToPath(place)), path);
}

/** Ponder's classes of errors: what it tries again, and what ends the index with the message. */
export const { RetryableError, NonRetryableUserError, RecordNotFoundError } = moduleOfPonder(
  classes,
  "internal/errors.js",
);
