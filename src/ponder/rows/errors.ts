import { z } from "zod/v4";
import { moduleOfPonder } from "../expected.ts";

type ErrorClass = new (message: string) => Error;
const errorClass = z.custom<ErrorClass>((value) => typeof value === "function");
const classes = z.object({
  RetryableError: errorClass,
  NonRetryableUserError: errorClass,
  RecordNotFoundError: errorClass,
});

/** Ponder's classes of errors: what it tries again, and what ends the index with the message. */
export const { RetryableError, NonRetryableUserError, RecordNotFoundError } = moduleOfPonder(
  classes,
  "internal/errors.js",
);
