import { lookup } from "node:dns";
import { lookup as lookupAll } from "node:dns/promises";
import http from "node:http";
import https from "node:https";
import { BlockList, isIP, type LookupFunction } from "node:net";

// Ranges outside the public internet: RFC 6890 and its successors, multicast, and IPv6 forms that embed IPv4.
const blocked = createBlockList(
  "ipv4",
  "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24",
  "192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4",
);
// Only 2000::/3 is global unicast; its special ranges follow.
const globalUnicast = createBlockList("ipv6", "2000::/3");
const blockedUnicast = createBlockList("ipv6", "2001::/23 2001:db8::/32 2002::/16 3fff::/20");

function createBlockList(type: "ipv4" | "ipv6", ...subnets: string[]): BlockList {
  const list = new BlockList();
  for (const subnet of subnets.join(" ").split(" ")) {
    const [network = "", prefix] = subnet.split("/");
    list.addSubnet(network, Number(prefix), type);
  }
  return list;
}

/** Whether an IP address belongs to the public internet; false for any other text. */
export function isPublicAddress(address: string): boolean {
  const version = isIP(address);
  if (version === 4) return !blocked.check(address, "ipv4");
  if (version === 6) return globalUnicast.check(address, "ipv6") && !blockedUnicast.check(address, "ipv6");
  return false;
}

type Outgoing = https.RequestOptions & { allowsPrivate: boolean; refusal: () => Error };

/**
 * Sends an HTTP request on a connection of its own; redirects are not followed. Unless `allowsPrivate`, it rejects with
 * `refusal` if the host is an address outside the public internet, or a name that has one.
 */
export async function send(
  url: URL,
  body: string | undefined,
  { allowsPrivate, refusal, ...options }: Outgoing,
): Promise<http.IncomingMessage> {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (!allowsPrivate && isIP(host) !== 0 && !isPublicAddress(host)) throw refusal();
  // The connection's own lookup checks host names: a second lookup could return another address (DNS rebinding).
  const guard = allowsPrivate ? {} : { lookup: createPublicLookup(refusal) };
  const request = (url.protocol === "https:" ? https : http).request(url, {
    ...options,
    agent: false,
    ...guard,
  });
  const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>();
  request.on("response", resolve).on("error", reject);
  // The host may close the connection, or leave HTTP (101), without a response. No other event follows then.
  request.on("close", () => reject(new Error("the connection was closed")));
  request.end(body);
  return promise;
}

/** The bytes of a body. Throws `refusal` once there are more than `max`. */
export async function readUpTo(
  max: number,
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  refusal: () => Error,
): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > max) throw refusal();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const createPublicLookup =
  (refusal: () => Error): LookupFunction =>
  (hostname, options, callback) =>
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      const [first] = addresses ?? [];
      const isPublic = first && addresses.every(({ address }) => isPublicAddress(address));
      if (error || !isPublic) return callback(error ?? refusal(), "", 0);
      if (options.all) callback(null, addresses);
      else callback(null, first.address, first.family);
    });

const maxRedirects = 5;

type Following = {
  headers: Record<string, string>;
  signal: AbortSignal;
  refusal: (problem: string) => Error;
};

/**
 * Requests a URL, and follows redirects within its origin, or over TLS to hosts whose addresses are all public. Only
 * its origin gets `authorization`. Rejects with `refusal` of the problem for other redirects.
 */
export async function fetchFollowing(
  url: string,
  { headers, signal, refusal }: Following,
): Promise<Response> {
  const { host, origin } = new URL(url);
  const { authorization: _, ...withoutCredentials } = headers;
  let target = new URL(url);
  for (let redirects = 0; ; redirects++) {
    const given = target.origin === origin ? headers : withoutCredentials;
    const response = await fetch(target, { headers: given, signal, redirect: "manual" });
    const location = response.headers.get("location");
    if (location === null || response.status < 300 || response.status > 399) return response;
    if (redirects === maxRedirects || !URL.canParse(location, target))
      throw refusal(`${host} redirects without an end.`);
    target = new URL(location, target);
    if (target.origin !== origin && !(await isPublic(target)))
      throw refusal(`${host} redirects to ${target.origin}, which is not a public host over TLS.`);
  }
}

async function isPublic({ protocol, hostname }: URL): Promise<boolean> {
  if (protocol !== "https:") return false;
  const addresses = await lookupAll(hostname.replace(/^\[|\]$/g, ""), { all: true });
  return addresses.every(({ address }) => isPublicAddress(address));
}
