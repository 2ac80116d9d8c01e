import { ponder } from "ponder:registry";
import type { Hex } from "viem";
import type { CurrencyOf } from "../datasources/currencies.ts";
import type { TokenIssuer } from "../datasources/token-issuers.ts";
import { type Market, recordOrder } from "../indexing/name-sales.ts";
import { recordTokenTransfer, recordTokenTransfers } from "../indexing/name-tokens.ts";
import { type Settings, scopeOf } from "../indexing/scope.ts";

/**
 * Registers the indexing functions of the plugin `tokenscope`: tokens that stand for names, and their sales.
 * `isSource` tells which contract entries the configuration has; the others are left out.
 */
export function registerTokenscope(
  settings: Settings,
  {
    isSource,
    issuers,
    currencyOf,
  }: { isSource: (source: string) => boolean; issuers: readonly TokenIssuer[]; currencyOf: CurrencyOf },
): void {
  const on: typeof ponder.on = (name, handler) => {
    if (isSource(name.slice(0, name.indexOf(":")))) ponder.on(name, handler);
  };
  const market: Market = { issuerOf: issuerLookup(issuers), currencyOf };
  const issuer = (chainId: number, address: Hex): TokenIssuer => {
    const found = market.issuerOf(chainId, address);
    if (found === undefined) throw new Error(`Contract ${address} of chain ${chainId} issues no names.`);
    return found;
  };

  for (const source of [
    "tokenscope/ensroot/BaseRegistrar",
    "tokenscope/basenames/BaseRegistrar",
    "tokenscope/lineanames/BaseRegistrar",
  ] as const) {
    on(`${source}:Transfer`, ({ context, event }) =>
      recordTokenTransfer(
        scopeOf(settings, context, event),
        issuer(context.chain.id, event.log.address),
        event.args,
      ),
    );
  }

  for (const source of [
    "tokenscope/ensroot/NameWrapper",
    "tokenscope/lineanames/NameWrapper",
    "tokenscope/threednsOptimism/ThreeDNSToken",
    "tokenscope/threednsBase/ThreeDNSToken",
  ] as const) {
    on(`${source}:TransferSingle`, ({ context, event }) => {
      const { id, value, from, to } = event.args;
      return recordTokenTransfers(
        scopeOf(settings, context, event),
        issuer(context.chain.id, event.log.address),
        { ids: [id], amounts: [value], from, to },
      );
    });
    on(`${source}:TransferBatch`, ({ context, event }) => {
      const { ids, values: amounts, from, to } = event.args;
      return recordTokenTransfers(
        scopeOf(settings, context, event),
        issuer(context.chain.id, event.log.address),
        { ids, amounts, from, to },
      );
    });
  }

  for (const source of ["tokenscope/seaport/Seaport1_5", "tokenscope/seaport/Seaport1_6"] as const) {
    on(`${source}:OrderFulfilled`, ({ context, event }) =>
      recordOrder(scopeOf(settings, context, event), market, event.args),
    );
  }
}

function issuerLookup(issuers: readonly TokenIssuer[]): Market["issuerOf"] {
  const byAddress = new Map(issuers.map((issuer) => [`${issuer.chainId}:${issuer.address}`, issuer]));
  return (chainId, address) => byAddress.get(`${chainId}:${address.toLowerCase()}`);
}
