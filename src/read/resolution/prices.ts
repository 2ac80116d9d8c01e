import { LRUCache } from "lru-cache";
import { type Client, type Hex, parseAbi } from "viem";
import { readContract } from "viem/actions";
import type { Namespace } from "../../deployments/deployment.ts";
import { rootDatasource } from "../../deployments/ens.ts";

// ENS, ETHRegistrarController: since 2023 both controllers have it.
const abi = parseAbi([
  "function rentPrice(string name, uint256 duration) view returns ((uint256 base, uint256 premium))",
]);
const controllers = ["UnwrappedEthRegistrarController", "WrappedEthRegistrarController"];
const year = 31_536_000n;
const longestMs = 1_000;
// Each page of a name may ask. What resolves names needs the chain more.
const mostAtOnce = 4;

/** Wei for a year of a name below .eth: the usual price, and a premium that falls day by day. */
export type YearPrice = { base: bigint; premium: bigint };

/** Reads the price of a label from the newest controller of .eth; undefined where that cannot be told in a second. */
export function createPrices(
  namespace: Namespace,
  clientOf: (chainId: number) => Client | undefined,
): (label: string) => Promise<YearPrice | undefined> {
  const root = namespace[rootDatasource];
  const address = controllers.flatMap((name) => root?.contracts[name]?.address ?? [])[0] as Hex | undefined;
  const client = root && clientOf(root.chainId);
  const known = new LRUCache<string, { price: YearPrice | undefined }>({ max: 1_000, ttl: 60_000 });
  let calls = 0;
  return async (label) => {
    if (client === undefined || address === undefined) return undefined;
    const found = known.get(label);
    if (found !== undefined) return found.price;
    if (calls >= mostAtOnce) return undefined;
    calls += 1;
    const asked = readContract(client, { abi, address, functionName: "rentPrice", args: [label, year] })
      .catch(() => undefined)
      .finally(() => {
        calls -= 1;
      });
    // A node that cannot tell is asked again in a minute.
    const price = await Promise.race([asked, timeOut()]);
    known.set(label, { price });
    return price;
  };
}

const timeOut = () =>
  new Promise<undefined>((resolve) => void setTimeout(resolve, longestMs, undefined).unref());
