import { expect, test } from "vitest";
import { isPublicAddress } from "./public-address.ts";

const [localhost, privateFour, otherFour, six] = [
  "127.0.0.1 127.255.255.255 0.0.0.0 localhost 0x7f.1",
  "10.1.2.3 172.16.0.1 172.31.255.255 192.168.1.1 169.254.169.254 100.64.0.1",
  "224.0.0.1 255.255.255.255",
  "::1 :: ::ffff:127.0.0.1 ::ffff:8.8.8.8 64:ff9b::7f00:1 fe80::1 fc00::1 fd12:3456::1 ff02::1 2001:db8::1 2002:7f00:1::",
];

test.each(["", ...`${localhost} ${privateFour} ${otherFour} ${six}`.split(" ")])(
  "%s is not public",
  (address) => {
    expect(isPublicAddress(address)).toBe(false);
  },
);

test.each("1.1.1.1 172.15.255.255 172.32.0.1 100.63.255.255 2606:4700:4700::1111 2a00::1".split(" "))(
  "%s is public",
  (address) => {
    expect(isPublicAddress(address)).toBe(true);
  },
);
