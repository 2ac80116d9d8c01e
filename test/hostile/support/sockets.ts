import { Agent, request } from "node:http";
import { gunzipSync } from "node:zlib";
import { describeRequest, type FuzzResponse } from "./oracle.ts";
import type { FuzzRequest } from "./requests.ts";

const agent = new Agent({ keepAlive: true, maxSockets: 64 });
const patienceMs = 100_000;

/** Sends a request over a socket, its path byte for byte as it is. Throws when the connection breaks. */
export function sendOverSocket(port: number, fuzz: FuzzRequest): Promise<FuzzResponse> {
  const { method, path, headers, body } = fuzz;
  return new Promise((resolve, reject) => {
    const given: Record<string, string> = Object.fromEntries(
      Object.entries(headers).filter(([, value]) => value !== ""),
    );
    // Node frames no body of a DELETE or OPTIONS by itself: it would be read as the next request.
    if (body !== undefined) given["content-length"] = String(Buffer.byteLength(body));
    const options = { agent, host: "127.0.0.1", port, method, path, headers: given, timeout: patienceMs };
    const asked = request(options, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => {
        const bytes = Buffer.concat(chunks);
        const isPacked = response.headers["content-encoding"] === "gzip" && bytes.length > 0;
        resolve({
          status: response.statusCode ?? 0,
          contentType: response.headers["content-type"] ?? null,
          body: (isPacked ? gunzipSync(bytes) : bytes).toString("utf8"),
        });
      });
    });
    asked.on("timeout", () => asked.destroy(new Error(`no response within ${patienceMs} ms`)));
    asked.on("error", (error) => reject(new Error(`${error.message}: ${describeRequest(fuzz)}`)));
    asked.end(body);
  });
}
