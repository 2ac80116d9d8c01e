import { type Hex, isHex } from "viem";
import { z } from "zod/v4";
import { readUpTo, send } from "../../rpc/public-address.ts";

/**
 * Limits of one request's gateway lookups (EIP-3668), safe on the public internet. All but `maxRequests` are per
 * lookup.
 */
export const defaultGatewayLimits = {
  timeoutMs: 5_000,
  maxBytes: 512 * 1024,
  maxRequests: 24,
  /** Whether gateways in private networks or without TLS may be asked. */
  allowsPrivateHosts: false,
};

/** Limits of gateway lookups. */
export type GatewayLimits = typeof defaultGatewayLimits;

const response = z.object({ data: z.string().refine((text) => isHex(text)) });

/**
 * Creates a reader that asks gateways in order until one responds (EIP-3668), else throws GatewayError. `limits` hold
 * for all its calls.
 */
export function createGatewayReader(
  limits: GatewayLimits,
  signal: AbortSignal,
): (lookup: { data: Hex; sender: Hex; urls: readonly string[] }) => Promise<Hex> {
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
        // EIP-3668: 4xx is final; after 5xx the next gateway is asked.
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
  const allowsPrivate = limits.allowsPrivateHosts;
  if (url.protocol !== "https:" && !(allowsPrivate && url.protocol === "http:"))
    throw new GatewayError(`gateways over ${url.protocol} are not asked`);
  const body = isPost ? JSON.stringify({ data, sender }) : undefined;
  const response = await send(url, body, {
    method: isPost ? "POST" : "GET",
    headers: { accept: "application/json", ...(isPost ? { "content-type": "application/json" } : {}) },
    signal: AbortSignal.any([signal, AbortSignal.timeout(limits.timeoutMs)]),
    allowsPrivate,
    refusal: () => new GatewayError("gateways in private networks are not asked"),
  });
  const refusal = () => new GatewayError("a gateway's response is too long");
  const bytes = await readUpTo(limits.maxBytes, response, refusal);
  return { status: response.statusCode ?? 500, text: bytes.toString() };
}

// Servers accept no longer URLs. Contracts can have longer data sent by POST.
const maxUrlCharacters = 16_384;

// Expands a URL template (EIP-3668). Checks the length before it builds the URL: a contract may repeat megabytes in it.
function expand(template: string, values: { sender: Hex; data: Hex }): string {
  // Every second part is a captured name.
  const parts = template
    .split(/\{(sender|data)\}/)
    .map((part, index) => (index % 2 === 0 ? part : values[part as keyof typeof values]));
  if (parts.reduce((sum, { length }) => sum + length, 0) > maxUrlCharacters)
    throw new GatewayError("a gateway's URL is too long");
  return parts.join("");
}

/** A gateway lookup failed; the message says why. */
export class GatewayError extends Error {
  override name = "GatewayError";
}
