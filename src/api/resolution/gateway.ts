import { lookup } from "node:dns";
import http from "node:http";
import https from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { type Hex, isHex } from "viem";
import { z } from "zod/v4";
import { isPublicAddress } from "../../rpc/public-address.ts";

/** Bounds of the look-ups at gateways (EIP-3668) that one request may cause, for a service on the public internet. */
export const defaultGatewayLimits = {
  /** Milliseconds for one gateway's response. */
  timeoutMs: 5_000,
  /** Bytes of one response. */
  maxBytes: 512 * 1024,
  /** Gateways that may be asked in all. */
  maxRequests: 24,
  /** Whether gateways in private networks or without TLS may be asked. */
  allowsPrivateHosts: false,
};

/** Bounds of the look-ups at gateways. */
export type GatewayLimits = typeof defaultGatewayLimits;

type Lookup = { data: Hex; sender: Hex; urls: readonly string[] };

const response = z.object({ data: z.string().refine((text) => isHex(text)) });

/**
 * A function that asks the gateways of a contract, one after another until one responds (EIP-3668). Its limits apply to
 * all its calls together, so each request gets its own function. Throws GatewayError.
 */
export function createGatewayReader(
  limits: GatewayLimits,
  signal: AbortSignal,
): (lookup: Lookup) => Promise<Hex> {
  let left = limits.maxRequests;
  return async ({ data, sender, urls }) => {
    let reason = "the contract names no gateway";
    for (const template of urls) {
      if (left <= 0) throw new GatewayError("too many gateways were asked");
      left -= 1;
      try {
        const reply = await ask({ template, data, sender: sender.toLowerCase() as Hex }, limits, signal);
        if (reply.status < 300) return response.parse(JSON.parse(reply.text)).data as Hex;
        reason = `a gateway responded with ${reply.status}`;
        // EIP-3668: a refusal is final, a failure is not.
        if (reply.status < 500) break;
      } catch (error) {
        signal.throwIfAborted();
        reason = error instanceof GatewayError ? error.message : "a gateway could not be asked";
      }
    }
    throw new GatewayError(reason);
  };
}

async function ask(
  { template, data, sender }: { template: string; data: Hex; sender: Hex },
  limits: GatewayLimits,
  signal: AbortSignal,
): Promise<{ status: number; text: string }> {
  const isPost = !template.includes("{data}");
  const text = expand(template, { sender, data });
  if (!URL.canParse(text)) throw new GatewayError("a gateway's URL is malformed");
  const url = new URL(text);
  checkHost(url, limits);
  const body = isPost ? JSON.stringify({ data, sender }) : undefined;
  const request = (url.protocol === "https:" ? https : http).request(url, {
    method: isPost ? "POST" : "GET",
    headers: { accept: "application/json", ...(isPost ? { "content-type": "application/json" } : {}) },
    signal: AbortSignal.any([signal, AbortSignal.timeout(limits.timeoutMs)]),
    // One connection per look-up: no connection stays open to a host that a contract chose.
    agent: false,
    ...(limits.allowsPrivateHosts ? {} : { lookup: lookupPublic }),
  });
  const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>();
  request.on("response", resolve).on("error", reject);
  // A gateway may close the connection, or leave HTTP (101), without a response: nothing else follows then.
  request.on("close", () => reject(new GatewayError("a gateway closed the connection")));
  request.end(body);
  const response = await promise;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limits.maxBytes) throw new GatewayError("a gateway's response is too long");
    chunks.push(chunk);
  }
  return { status: response.statusCode ?? 500, text: Buffer.concat(chunks).toString() };
}

// Servers take no longer ones (a proof that does not fit is asked for by POST).
const mostUrlCharacters = 16_384;

/** The URL of a template (EIP-3668). Its length is known before it is built: a contract may repeat megabytes in it. */
function expand(template: string, values: { sender: Hex; data: Hex }): string {
  // Names of values stand between the texts around them.
  const parts = template
    .split(/\{(sender|data)\}/)
    .map((part, index) => (index % 2 === 0 ? part : values[part as keyof typeof values]));
  if (parts.reduce((sum, { length }) => sum + length, 0) > mostUrlCharacters)
    throw new GatewayError("a gateway's URL is too long");
  return parts.join("");
}

const privateHost = () => new GatewayError("gateways in private networks are not asked");

// Host names are checked by the look-up of the connection itself, so that a second look-up cannot give another address.
function checkHost(url: URL, { allowsPrivateHosts }: GatewayLimits): void {
  const schemes = allowsPrivateHosts ? ["https:", "http:"] : ["https:"];
  if (!schemes.includes(url.protocol)) throw new GatewayError(`gateways over ${url.protocol} are not asked`);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) !== 0 && !allowsPrivateHosts && !isPublicAddress(host)) throw privateHost();
}

const lookupPublic: LookupFunction = (hostname, options, callback) =>
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    const [first] = addresses ?? [];
    const isPublic = first && addresses.every(({ address }) => isPublicAddress(address));
    if (error || !isPublic) return callback(error ?? privateHost(), "", 0);
    if (options.all) callback(null, addresses);
    else callback(null, first.address, first.family);
  });

/** No gateway responded; the message says why the last one did not. */
export class GatewayError extends Error {
  override name = "GatewayError";
}
