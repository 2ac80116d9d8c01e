import { describe, expect, test } from "vitest";
import { selectionQuery } from "../../api/ensnode/selection.ts";
import { isEmptySelection, unsetRecords } from "./selection.ts";

const errorsOf = (query: Record<string, string>) =>
  selectionQuery.safeParse(query).error?.issues.map(({ message }) => message);

describe("query parameters", () => {
  test.each([
    [{ name: "true" }, { name: true }],
    [{ addresses: "60,0,2147492101" }, { addresses: [60n, 0n, 2147492101n] }],
    // ENSIP-9 coin types are of the type uint256.
    [{ addresses: String(2n ** 256n - 1n) }, { addresses: [2n ** 256n - 1n] }],
    [{ texts: "avatar,com.x" }, { texts: ["avatar", "com.x"] }],
    [{ texts: "a b,ü" }, { texts: ["a b", "ü"] }],
    [
      { contenthash: "true", pubkey: "false" },
      { contenthash: true, pubkey: false },
    ],
    [
      { dnszonehash: "true", version: "true" },
      { dnszonehash: true, version: true },
    ],
    [{ abi: "15" }, { abi: 15n }],
    [{ interfaces: "0x01FFC9A7" }, { interfaces: ["0x01ffc9a7"] }],
  ])("%j select what they name", (query, expected) => {
    const selection = selectionQuery.parse(query);
    expect([selection, isEmptySelection(selection)]).toEqual([expected, false]);
  });

  test.each([
    [{ name: "yes" }, "name must be true or false"],
    [{ addresses: "60,60" }, "addresses must not name anything twice"],
    [{ addresses: "eth" }, "addresses must be coin types in decimal digits, with commas between"],
    [{ addresses: "060" }, "addresses must be coin types in decimal digits, with commas between"],
    [
      { addresses: String(2n ** 256n) },
      "addresses must be coin types in decimal digits, with commas between",
    ],
    [
      { addresses: Array.from({ length: 51 }, (_, type) => type).join() },
      "addresses must not name more than 50",
    ],
    [{ texts: "avatar,,url" }, "texts must be keys with commas between, none of them empty or with a NUL"],
    [{ texts: "a\0" }, "texts must be keys with commas between, none of them empty or with a NUL"],
    [{ abi: "0" }, "abi must be a mask of content types, at least 1"],
    [{ interfaces: "0x01ffc9" }, "interfaces must be 4-byte ids (0x and 8 hex digits) with commas between"],
  ])("%j are refused: %s", (query, message) => {
    expect(errorsOf(query as Record<string, string>)).toEqual([message]);
  });

  test.each([{}, { name: "false" }])("%j select nothing", (query) => {
    expect(isEmptySelection(selectionQuery.parse(query))).toBe(true);
  });
});

test("unset records are null under every selected key, and absent for the rest", () => {
  const selection = {
    ...{ name: true, addresses: [60n], texts: ["url", "__proto__"], abi: 1n },
    ...{ interfaces: ["0x01ffc9a7" as const], pubkey: false },
  };
  expect(JSON.stringify(unsetRecords(selection))).toBe(
    '{"name":null,"addresses":{"60":null},"texts":{"url":null,"__proto__":null},"abi":null,"interfaces":{"0x01ffc9a7":null}}',
  );
});
