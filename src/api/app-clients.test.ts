import { Hono } from "hono";
import { describe, expect, test } from "vitest";
import { findClient } from "./kit/client-address.ts";

async function client(
  { proxies = 0, ...headers }: { proxies?: number; [header: string]: string | number },
  remoteAddress?: string,
): Promise<string> {
  const app = new Hono().get("/", (c) => c.text(findClient(c, proxies)));
  const env = remoteAddress === undefined ? {} : { incoming: { socket: { remoteAddress } } };
  return (await app.request("/", { headers: headers as Record<string, string> }, env)).text();
}

test.each([
  ["192.0.2.7", "192.0.2.7"],
  ["::ffff:192.0.2.7", "192.0.2.7"],
  ["2001:db8:0:12:34::1", "2001:db8:0:12::/64"],
  ["2001:db8:0:12:99:0:0:2", "2001:db8:0:12::/64"],
  ["2001:db8::1", "2001:db8:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
])("the client at %s is %s", async (address, expected) => {
  expect(await client({}, address)).toBe(expected);
});

test("headers count for nothing unless proxies are trusted", async () => {
  expect(await client({ "x-forwarded-for": "198.51.100.1" }, "192.0.2.7")).toBe("192.0.2.7");
  expect(await client({ "x-forwarded-for": "198.51.100.1" })).toBe("unknown");
});

describe("behind proxies", () => {
  // A client may send a list of its own, to which each proxy adds the address that it was asked from.
  test.each([
    [1, "203.0.113.9, 198.51.100.1", "198.51.100.1"],
    [2, "203.0.113.9, 198.51.100.1, 10.0.0.2", "198.51.100.1"],
    [2, "198.51.100.1", "198.51.100.1"],
    [1, "198.51.100.1:4711", "198.51.100.1"],
    [1, "[2001:db8::1]:4711", "2001:db8:0:0::/64"],
    [1, "2001:db8::1", "2001:db8:0:0::/64"],
    [1, "nonsense", "10.0.0.1"],
    [1, "", "10.0.0.1"],
  ])("%i of them, X-Forwarded-For: %s", async (proxies, list, expected) => {
    expect(await client({ proxies, "x-forwarded-for": list }, "10.0.0.1")).toBe(expected);
  });

  // The examples of RFC 7239, section 4.
  test.each([
    ['for="[2001:db8:cafe::17]:4711"', "2001:db8:cafe:0::/64"],
    ["for=192.0.2.60;proto=http;by=203.0.113.43", "192.0.2.60"],
    ["for=192.0.2.43, for=198.51.100.17", "198.51.100.17"],
    ['For="_gazonk"', "10.0.0.1"],
  ])("Forwarded: %s", async (header, expected) => {
    expect(await client({ proxies: 1, forwarded: header }, "10.0.0.1")).toBe(expected);
  });
});
