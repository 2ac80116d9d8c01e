import { erc1155TransferAbi, seaportAbi } from "../../abis/names.ts";
import { baseRegistrarAbi } from "../../abis/registrars.ts";
import { currencies } from "../deployments/currencies.ts";
import type { Namespace } from "../deployments/deployment.ts";
import { deployedContracts, tokenIssuers } from "../deployments/namespaces.ts";
import type { EventsOf } from "../handlers/on.ts";
import {
  applyOrderFulfilled,
  applyTokenTransfer,
  applyTokenTransfers,
  type Market,
} from "../indexing/tokenscope.ts";

/** Registers the handlers of the plugin `tokenscope`: tokens that stand for names, and their sales. */
export function registerTokenscope(events: EventsOf, namespace: Namespace): void {
  const issuers = tokenIssuers(namespace);
  const market: Market = {
    issuerOf: (chainId, address) =>
      issuers.find((one) => one.chainId === chainId && one.address === address.toLowerCase()),
    currencyOf: currencies(namespace),
  };
  const roles = ["baseRegistrar", "nameWrapper", "threednsToken", "marketplace"] as const;
  for (const { datasourceId, name, contract, chainId, address } of deployedContracts(namespace, roles)) {
    const source = `tokenscope/${datasourceId}/${name}`;
    if (contract.role === "marketplace") {
      events(source, seaportAbi)("OrderFulfilled", (scope, order) =>
        applyOrderFulfilled(scope, market, order),
      );
      continue;
    }
    const issuer = address && market.issuerOf(chainId, address);
    if (!issuer) throw new Error(`Contract ${name} of datasource "${datasourceId}" issues no names.`);
    if (contract.role === "baseRegistrar") {
      const on = events(source, baseRegistrarAbi);
      on("Transfer", (scope, transfer) => applyTokenTransfer(scope, issuer, transfer));
      continue;
    }
    const on = events(source, erc1155TransferAbi);
    on("TransferSingle", (scope, { id, value, from, to }) =>
      applyTokenTransfers(scope, issuer, { ids: [id], amounts: [value], from, to }),
    );
    on("TransferBatch", (scope, { ids, values: amounts, from, to }) =>
      applyTokenTransfers(scope, issuer, { ids, amounts, from, to }),
    );
  }
}
