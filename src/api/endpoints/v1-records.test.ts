import { describe, expect, test } from "vitest";
import { alice, createStoredNames } from "../../../test/support/lookups/stored-names.ts";

const { get } = await createStoredNames();

const recordsOf = async (query: string) => {
  const { data, ...rest } = await get<{ records: Record<string, { status: string }> }>(
    `/v1/names/records.eth/records?keys=${query}`,
  );
  return { ...rest, records: data?.records };
};

test("records by key", async () => {
  const { records } = await recordsOf("addr:60,text:url,avatar,contenthash,addr:1");
  expect(records).toEqual({
    "addr:1": { status: "not_found" },
    "addr:60": { status: "ok", value: alice },
    avatar: { status: "not_found" },
    contenthash: { status: "ok", value: "0xe301" },
    "text:url": { status: "ok", value: "https://ens.domains" },
  });
});

describe("records from the chain", () => {
  test("a chain that cannot be asked fails each key, and leaves what is indexed", async () => {
    const verified = await recordsOf("addr:60,text:url&source=verified");
    expect(verified.meta.source).toBe("verified");
    expect(Object.values(verified.records).map(({ status }) => status)).toEqual(["failed", "failed"]);
    const auto = await recordsOf("addr:60,text:url&source=auto");
    expect(auto.meta.source).toBe("indexed");
    expect(auto.records["addr:60"]).toEqual({ status: "ok", value: alice });
  });

  test("more than 50 of a kind are refused", async () => {
    const keys = Array.from({ length: 51 }, (_, coin) => `addr:${coin}`).join(",");
    expect((await recordsOf(`${keys}&source=verified`)).error.code).toBe("unsupported");
  });
});
