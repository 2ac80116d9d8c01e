import { encodeAbiParameters, type Hex } from "viem";
import { describe, expect, test } from "vitest";
import { chainOf, currentStatus, openEndpoints } from "../../../test/support/endpoints.ts";
import { namehash } from "../../ens/names.ts";
import { resolvedPrimaryName, resolvedPrimaryNames, resolvedRecords } from "./resolve.ts";

const now = 1_768_400_411;

/** The endpoints over a chain that answers calls with `answer`; the database must not be queried. */
function endpoint({
  answer = () => {
    throw new Error("connect ECONNREFUSED https://eth.example/v2/secret-key");
  },
  distance,
  plugins = ["protocol-acceleration"],
}: {
  answer?: (call: { to: Hex; data: Hex }) => Hex;
  distance?: number;
  plugins?: string[];
} = {}) {
  const { ask } = openEndpoints([resolvedRecords, resolvedPrimaryName, resolvedPrimaryNames], {
    ...chainOf(answer),
    status: {
      current: () =>
        distance === undefined ? undefined : currentStatus("omnichain-following", now - distance),
    },
    plugins,
    clock: () => now * 1000,
  });
  return async (path: string) => {
    const { status, body, headers } = await ask(`/api/resolve${path}`);
    // Whoever asks again at once would make it worse.
    if (status === 503) expect(headers.get("retry-after")).toBe("5");
    return [status, body] as const;
  };
}

const none = `0x${"0".repeat(64 * 3)}` as Hex;
const resolver: Hex = `0x${"b2".repeat(20)}`;
const revert = () => {
  throw Object.assign(new Error("execution reverted"), { code: 3 });
};

describe("refuses with the reason", () => {
  const coinTypes = "addresses must be coin types in decimal digits, with commas between";
  const chain = "chainId must be an integer from 0 to 2147483647; 0 stands for all EVM chains";
  const alice = `0x${"a1".repeat(20)}`;
  test.each<[string, string]>([
    ["/records/Alice.eth?texts=a", 'name must be normalized (ENSIP-15): write "alice.eth" instead'],
    ["/records/alice.eth?addresses=", coinTypes],
    ["/records/alice.eth?texts=a&texts=b", "texts must be given once"],
    ["/records/alice.eth?texts=a&accelerate=1", "accelerate must be true or false"],
    [`/records/${"a.".repeat(50)}eth?texts=a`, "name must not have more than 50 labels"],
    ["/primary-name/0x12/1", "address must be an address"],
    [`/primary-name/${alice}/x`, chain],
    [`/primary-name/${alice}/2147483648`, chain],
    [
      `/primary-names/${alice}?chainIds=0`,
      "chainIds must be integers from 1 to 2147483647 with commas between",
    ],
    [`/primary-names/${alice}?chainIds=1,1`, "chainIds must not name a chain twice"],
  ])("%s", async (path, message) => {
    // A message begins with what it is about.
    const [field = ""] = message.split(" ");
    const details = { errors: [], properties: { [field]: { errors: [message] } } };
    expect(await endpoint()(path)).toEqual([400, { message: "Invalid Input", details }]);
  });

  test.each(["", "?name=false", "?accelerate=true"])("a selection of nothing: %j", async (query) => {
    const [status, body] = await endpoint()(`/records/alice.eth${query}`);
    expect([status, body.details.errors[0]]).toEqual([
      400,
      expect.stringContaining("Select at least one record"),
    ]);
  });
});

test("a name without a resolver has no records", async () => {
  const [status, body] = await endpoint({ answer: () => none })(
    "/records/nobody.eth?name=true&addresses=60,0&texts=avatar,__proto__&contenthash=true&pubkey=true&version=true&abi=1&interfaces=0x01ffc9a7&dnszonehash=true",
  );
  expect(status).toBe(200);
  expect(body).toEqual({
    records: {
      name: null,
      addresses: { "60": null, "0": null },
      texts: Object.fromEntries([
        ["avatar", null],
        ["__proto__", null],
      ]),
      contenthash: null,
      pubkey: null,
      dnszonehash: null,
      version: null,
      abi: null,
      interfaces: { "0x01ffc9a7": null },
    },
    accelerationRequested: false,
    accelerationAttempted: false,
  });
});

test("a content hash is decoded beside its bytes", async () => {
  const hashes: Record<string, Hex> = {
    "site.eth": "0xe5010170000f6170702e756e69737761702e6f7267",
    "other.eth": "0x1234",
  };
  const asked = async (name: string) => {
    const bytes = encodeAbiParameters([{ type: "bytes" }], [hashes[name] ?? "0x"]);
    const answer = ({ to, data }: { to: Hex; data: Hex }) => {
      if (to === resolver) return data.startsWith("0xbc1c58d1") ? bytes : none; // ENSIP-7
      const types = [{ type: "address" }, { type: "bytes32" }, { type: "uint256" }];
      return encodeAbiParameters(types, [resolver, namehash(name), 0n]);
    };
    const [status, body] = await endpoint({ answer })(`/records/${name}?contenthash=true`);
    return [status, body.records];
  };
  expect(await asked("site.eth")).toEqual([
    200,
    {
      contenthash: hashes["site.eth"],
      decoded: {
        contenthash: {
          ...{ protocol: "ipns", uri: "ipns://app.uniswap.org" },
          url: "https://ipfs.io/ipns/app.uniswap.org",
        },
      },
    },
  ]);
  const decoded = { contenthash: { reason: "unsupported" } };
  expect(await asked("other.eth")).toEqual([200, { contenthash: "0x1234", decoded }]);
});

test("an unreachable chain is 503, without revealing its URL", async () => {
  expect(await endpoint()("/records/alice.eth?texts=a")).toEqual([
    503,
    { message: "Chain 1 could not be asked." },
  ]);
});

test("an absent universal resolver is 503, not a name without records", async () => {
  expect(await endpoint({ answer: revert })("/records/alice.eth?texts=a")).toEqual([
    503,
    { message: "The universal resolver returns nothing." },
  ]);
});

describe("acceleration is attempted", () => {
  test.each([
    [{ distance: 60 }, true],
    [{ distance: 61 }, false],
    [{}, false],
    [{ distance: 0, plugins: ["subgraph"] }, false],
  ])("with %o: %s", async (options, isAttempted) => {
    const [status, body] = await endpoint({ ...options, answer: () => none })(
      "/records/alice.eth?texts=a&accelerate=true",
    );
    expect([status, body]).toEqual([
      200,
      { records: { texts: { a: null } }, accelerationRequested: true, accelerationAttempted: isAttempted },
    ]);
  });
});

test("primary names are returned for the chains of the namespace, the root chain first", async () => {
  const [status, body] = await endpoint({ answer: () => none })(`/primary-names/0x${"a1".repeat(20)}`);
  expect(status).toBe(200);
  expect(body.names).toEqual({
    "1": null,
    "10": null,
    "8453": null,
    "42161": null,
    "59144": null,
    "534352": null,
  });
});

test("primary names that cannot be resolved do not hide the others", async () => {
  const baseReverse = "0838303030323130350772657665727365"; // 8.80002105.7.reverse in DNS form
  const answer = ({ data }: { data: Hex }) => {
    if (data.includes(baseReverse)) throw new Error("connect ECONNREFUSED");
    return none;
  };
  expect(await endpoint({ answer })(`/primary-names/0x${"a1".repeat(20)}?chainIds=1,8453`)).toEqual([
    200,
    {
      names: { "1": null },
      errors: { "8453": "Chain 1 could not be asked." },
      accelerationRequested: false,
      accelerationAttempted: false,
    },
  ]);
});

test("the trace is an array of spans, only on request", async () => {
  const [, body] = await endpoint({ answer: () => none })("/records/alice.eth?texts=a&trace=true");
  expect(body.trace).toMatchObject([
    {
      name: "forward-resolution:forward-resolution",
      children: [{ name: "forward-resolution:find-resolver" }, {}],
    },
  ]);
});
