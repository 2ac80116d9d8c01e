import { z } from "zod/v4";

// Shapes that answers share, as the API's document shows them.

export const hexSchema = (digits: number) => z.string().regex(new RegExp(`^0x[0-9a-f]{${digits}}$`));

export const addressSchema = hexSchema(40).meta({ description: "Address, lower case" });
export const hashSchema = hexSchema(64).meta({ description: "32 bytes of hex, lower case" });
export const secondsSchema = z.int().meta({ description: "Unix seconds" });

/** An account or contract on one chain. */
export const accountSchema = z.strictObject({ chainId: z.int().min(1), address: addressSchema });

/** A block of one chain. */
export const blockSchema = z.strictObject({ timestamp: secondsSchema, number: z.int().min(0) });

/** A token of a name. */
export const tokenSchema = z.strictObject({
  assetNamespace: z.enum(["erc721", "erc1155"]),
  contract: accountSchema,
  tokenId: hashSchema,
});

/** What is wrong with each field of a request: a tree along the fields. */
const faultTreeSchema = z.strictObject({
  errors: z.array(z.string()),
  properties: z.record(z.string(), z.unknown()).optional(),
  items: z.array(z.unknown()).optional(),
});

/** The body of a refused request. */
export const invalidInputSchema = z.strictObject({
  message: z.literal("Invalid Input"),
  details: faultTreeSchema,
});

/** The body of other errors. */
export const messageSchema = z.strictObject({ message: z.string() });

const count = z.int().min(0);

/** The place of a page in its list. */
export const pageContextSchema = z.strictObject({
  page: z.int().min(1),
  recordsPerPage: z.int().min(1).max(100),
  totalRecords: count,
  totalPages: z.int().min(1),
  hasNext: z.boolean(),
  hasPrev: z.boolean(),
  startIndex: count.optional().meta({ description: "From 0; absent if there are no records" }),
  endIndex: count.optional().meta({ description: "Inclusive" }),
});
