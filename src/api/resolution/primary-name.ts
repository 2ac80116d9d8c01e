import type { Hex } from "viem";
import { coinTypeOfChain, reverseName } from "../../ens/reverse-names.ts";
import { type Resolution, resolveRecords } from "./forward.ts";
import { emptySelection } from "./selection.ts";
import type { Tracer } from "./trace.ts";

const protocol = "reverse-resolution";

/**
 * The name that an account gave itself on a chain, if the name's address there is the account (ENSIP-19); else null.
 * Chain 0 stands for all EVM chains without a name of their own. Throws UnavailableError.
 */
export function primaryName(
  resolution: Resolution,
  { address, chainId }: { address: Hex; chainId: number },
  tracer: Tracer,
): Promise<string | null> {
  return tracer.span(protocol, "reverse-resolution", { address, chainId }, async (within) => {
    const coinType = coinTypeOfChain(chainId);
    const reverse = reverseName({ address, coinType });
    const name = await within.span(protocol, "resolve-reverse-name", { name: reverse }, async (step) => {
      const selection = { ...emptySelection(), name: true };
      const records = await resolveRecords(resolution, { name: reverse, selection }, step);
      return records.name ?? null;
    });
    const hasName = await within.span(protocol, "name-record-exists-check", {}, async (step) => {
      step.result(name !== null);
      return name !== null;
    });
    if (!hasName || name === null) return null;

    const found = await within.span(protocol, "forward-resolve-address-record", { name }, async (step) => {
      const selection = { ...emptySelection(), addresses: [coinType] };
      const records = await resolveRecords(resolution, { name, selection }, step);
      return records.addresses?.[String(coinType)] ?? null;
    });
    return within.span(protocol, "verify-resolved-address-matches-address", { found }, async (step) => {
      const isSame = found === address;
      step.result(isSame);
      return isSame ? name : null;
    });
  });
}
