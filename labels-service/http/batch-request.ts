import { z } from "zod/v4-mini";

/** Most labelhashes of one request. */
export const longestBatch = 10_000;

const versionFault = "must be a non-negative integer";

/** The body of `POST /v1/heal`. What the list holds is checked later, in the order of `GET /v1/heal`. */
export const batchRequest = z.object({
  labelhashes: z.custom<unknown[]>(Array.isArray, "must be a list of labelhashes"),
  label_set_id: z.optional(z.string("must be a string")),
  label_set_version: z.optional(z.int(versionFault).check(z.nonnegative(versionFault))),
});
