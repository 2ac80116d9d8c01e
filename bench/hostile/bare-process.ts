// Answers every request at once. What others see of it during an attack is the wait for a processor, which the attackers, their
// target and those who measure share.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const server = createServer((_, response) => response.end());
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.on("disconnect", () => process.exit());
