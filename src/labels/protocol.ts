import { z } from "zod";

/** `GET /v1/heal/<labelhash>`, 200. */
export const healReply = z.object({ status: z.literal("success"), label: z.string() });

/** The error body of every label endpoint. */
export const errorReply = z.object({ status: z.literal("error"), error: z.string(), errorCode: z.number() });

const labelSet = z.object({
  labelSetId: z.string(),
  highestLabelSetVersion: z.number().int().nonnegative(),
});

/** `GET /v1/config`, 200; also the form of ENSRainbow 1.11 and newer, which has no count. */
export const configReply = z.union([
  z.object({ version: z.string(), labelSet, recordsCount: z.number().int().nonnegative() }),
  z
    .object({ versionInfo: z.object({ ensRainbow: z.string() }), serverLabelSet: labelSet })
    .transform(({ versionInfo, serverLabelSet }) => ({
      version: versionInfo.ensRainbow,
      labelSet: serverLabelSet,
      recordsCount: undefined,
    })),
]);

/** `GET /v1/labels/count`, 200. */
export const countReply = z.object({ status: z.literal("success"), count: z.number().int().nonnegative() });

/** `GET /v1/version`, 200. */
export const versionReply = z.object({
  status: z.literal("success"),
  versionInfo: z.object({
    version: z.string(),
    dbSchemaVersion: z.number().int().positive(),
    labelSet,
  }),
});
