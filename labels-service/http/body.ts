import type { IncomingMessage } from "node:http";

/** The request's body. Throws `BodyTooLargeError` when it has more than `limit` bytes. */
export async function readBody(incoming: IncomingMessage, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  let isTooLarge = Number(incoming.headers["content-length"] ?? 0) > limit;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    length += chunk.length;
    isTooLarge ||= length > limit;
    // The rest is read and thrown away: a client that is still sending would not see the answer.
    if (!isTooLarge) chunks.push(chunk);
    if (length > 16 * limit) break;
  }
  if (isTooLarge) throw new BodyTooLargeError(limit);
  return Buffer.concat(chunks);
}

/** The request's body is larger than allowed. */
export class BodyTooLargeError extends Error {
  override name = "BodyTooLargeError";
  constructor(limit: number) {
    super(`The body has more than ${limit} bytes`);
  }
}
