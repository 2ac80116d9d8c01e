import { z } from "zod/v4";

// Schemas of values that responses and rows have.

/** Hex with a fixed number of digits, lower case. */
export const hexSchema = (digits: number) => z.string().regex(new RegExp(`^0x[0-9a-f]{${digits}}$`));

/** An address. */
export const addressSchema = hexSchema(40).describe("Address, lower case");

/** A hash, node or token id. */
export const hashSchema = hexSchema(64).describe("32 bytes of hex, lower case");

/** A point in time. */
export const secondsSchema = z.int().describe("Unix seconds");

/** A non-negative integer. */
export const countSchema = z.int().min(0);

/** A chain id. */
export const chainIdSchema = z.int().min(1);

/** An amount of money in the smallest unit of its currency. */
export const amountSchema = z.string().regex(/^\d+$/);

/** A contract on a chain. */
export const located = z.strictObject({ chain_id: z.int(), address: addressSchema });
