import { isIP } from "node:net";
import type { Context } from "hono";

/**
 * The key of a request's client: its IPv4 address, or the 64-bit network of its IPv6 address. With `trustedProxies`,
 * the outermost of them reports the address, in X-Forwarded-For (or Forwarded, RFC 7239).
 */
export function findClient(c: Context, trustedProxies: number): string {
  const { incoming } = (c.env ?? {}) as { incoming?: { socket?: { remoteAddress?: string } } };
  const direct = incoming?.socket?.remoteAddress ?? "unknown";
  if (trustedProxies === 0) return deriveNetwork(direct);
  const hops = c.req.header("X-Forwarded-For")?.split(",") ?? parseForwardedHops(c.req.header("Forwarded"));
  const reported = parseAddress(hops[Math.max(0, hops.length - trustedProxies)] ?? "");
  return deriveNetwork(isIP(reported) === 0 ? direct : reported);
}

function parseForwardedHops(header = ""): string[] {
  return header.split(",").map((hop) => /(?:^|;)\s*for=([^;]*)/i.exec(hop)?.[1] ?? "");
}

function parseAddress(text: string): string {
  const bare = text.trim().replace(/^"(.*)"$/, "$1");
  return /^\[([^\]]*)\]/.exec(bare)?.[1] ?? bare.replace(/^([\d.]+):\d+$/, "$1");
}

// One customer has a whole network of IPv6 addresses. IPv4 addresses may be mapped (::ffff:192.0.2.1).
function deriveNetwork(address: string): string {
  const mapped = /^::ffff:([\d.]+)$/i.exec(address)?.[1];
  if (mapped !== undefined || isIP(address) !== 6) return mapped ?? address;
  const [head = "", tail] = address.replace(/%.*$/, "").split("::");
  const before = head.split(":").filter((group) => group !== "");
  const after = (tail ?? "").split(":").filter((group) => group !== "");
  const zeros = tail === undefined ? 0 : 8 - before.length - after.length;
  const groups = [...before, ...Array<string>(Math.max(0, zeros)).fill("0"), ...after];
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":")}::/64`;
}
