import { z } from "zod/v4";

/** Body of an error, unless an endpoint declares another form. */
export type ErrorBody = { message: string; details?: unknown };

/** Body of an error under `/v1`. */
export type CodedError = { error: { code: string; message: string; details: object } };

/** Body of an error with nothing more to say. */
export const messageSchema = z.strictObject({ message: z.string() });

/** Body of a 400 for parameters or a body that do not fit their schema: what is wrong, as a tree along the fields. */
export const invalidInputSchema = z.strictObject({
  message: z.literal("Invalid Input"),
  details: z.strictObject({
    errors: z.array(z.string()),
    properties: z.record(z.string(), z.unknown()).optional(),
    items: z.array(z.unknown()).optional(),
  }),
});

/** Why an endpoint cannot respond now: the gate decides it the same way for all endpoints, or the database is busy. */
export type Refusal = { reason: "plugin" | "status" | "backfill" | "busy"; message: string; details: string };

/**
 * The form in which an endpoint words a refusal (503) and, if it has one of its own, an internal error (500) and input that does not
 * fit its schema (400).
 */
export type Envelope = {
  schema: z.ZodType;
  body: (refusal: Refusal) => unknown;
  failure: unknown;
  invalid?: { schema: z.ZodType; body: (error: z.ZodError) => CodedError };
};

const failure: ErrorBody = { message: "Internal Server Error" };

/** An envelope; its bodies must fit its schema. */
export function envelope<T>(
  schema: z.ZodType<T>,
  body: (refusal: Refusal) => NoInfer<T>,
  ownFailure?: NoInfer<T>,
): Envelope {
  return { schema, body, failure: ownFailure ?? failure };
}

/** The envelope of endpoints that declare no other: `message` and `details`. */
export const plainEnvelope = envelope(
  z.strictObject({ message: z.string(), details: z.string() }),
  ({ message, details }) => ({ message, details }),
);
