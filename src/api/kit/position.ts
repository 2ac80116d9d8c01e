import { oneText, readTime } from "../../ens/parameters.ts";
import { readToken, tokenTime } from "../../read/as-of.ts";
import type { WantedBlock } from "../../status/types.ts";

// Parameters that say at which position the index is read.

const blockForm = /^\d{1,15}:\d{1,15}$/;

/** The parameter by which an index is read as it was. Its value becomes a time in Unix seconds. */
export const atParameter = oneText("at")
  .refine((text) => readTime(text) !== undefined || tokenTime(text) !== undefined || blockForm.test(text), {
    error: "at must be Unix seconds, a time of RFC 3339, <chain id>:<block> or a value of meta.as_of_token",
  })
  .optional()
  .meta({
    description:
      "Reads the index as of a moment: Unix seconds, RFC 3339, `<chain id>:<block>` or `meta.as_of_token`",
    example: "1:19000000",
  });

/** The parameter by which a client never goes back in time from one reader to another; parsed to blocks. */
export const minBlockParameter = oneText("min_block")
  .transform((text) => parseMinBlocks(text) ?? [])
  .refine((blocks) => blocks.length > 0, {
    error:
      "min_block must be <chain id>:<block>, several of them separated by commas, or a value of meta.as_of_token",
  })
  .optional()
  .meta({
    description:
      "Blocks that the index must have reached, as comma-separated `<chain id>:<block>` or `meta.as_of_token`: waits up to two seconds, then 503",
    example: "1:19000000",
  });

function parseMinBlocks(text: string): WantedBlock[] | undefined {
  const token = Object.entries(readToken(text) ?? {});
  if (token.length > 0) return token.map(([chainId, { block_number: number }]) => ({ chainId, number }));
  const all = text.split(",").map((one) => one.trim());
  if (all.length > 50 || !all.every((one) => blockForm.test(one))) return undefined;
  return all.map((one) => {
    const [chainId, number] = one.split(":").map(Number);
    return { chainId: String(chainId), number: number ?? 0 };
  });
}
