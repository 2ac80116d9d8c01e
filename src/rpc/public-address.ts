import { BlockList, isIP } from "node:net";

// Ranges outside the public internet: RFC 6890 and its successors, multicast, and IPv6 forms that embed IPv4.
const blocked = blockList(
  "ipv4",
  "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24",
  "192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4",
);
// Only 2000::/3 is global unicast; its special ranges follow.
const globalUnicast = blockList("ipv6", "2000::/3");
const blockedUnicast = blockList("ipv6", "2001::/23 2001:db8::/32 2002::/16 3fff::/20");

function blockList(type: "ipv4" | "ipv6", ...subnets: string[]): BlockList {
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
