import type { IncomingMessage } from "node:http";

/** Why a body was not read to its end. `gone`: the client has left. */
export type Unread = "too long" | "too slow" | "too many" | "gone";

/** Limits of bodies. */
export type BodyLimits = {
  /** Bytes of all arriving bodies together. Short bodies may take twice as many. */
  arrivingBytes: number;
  /** Milliseconds without a byte. */
  stalledMs: number;
};

// Most bodies fit into the connection's first read.
const shortBytes = 65_536;
// A body is not ended in favour of others for so long.
const protectedMs = 1_000;

/**
 * Creates a reader of whole bodies of at most `longest` bytes. It does not read a body that is announced as longer, and
 * ends one that stalls. Once all bodies exceed `arrivingBytes`, it ends the oldest. If that is less than a second old,
 * it ends the growing one instead, while short ones may grow to twice the limit.
 */
export function createBodyReader({ arrivingBytes, stalledMs }: BodyLimits) {
  // Ends each body, the oldest first, with its start time.
  const arriving = new Map<(why: Unread) => void, number>();
  let held = 0;

  function makeRoom(endThis: (why: Unread) => void, isShort: boolean): void {
    const [[endOldest, since] = [endThis, 0]] = arriving;
    if (since < performance.now() - protectedMs || held > 2 * arrivingBytes) endOldest("too many");
    else if (!isShort) endThis("too many");
  }

  return (incoming: IncomingMessage, longest: number): Promise<Buffer | Unread> => {
    const length = incoming.headers["content-length"];
    const announced = Number(length ?? longest);
    if (announced > longest) return Promise.resolve("too long");
    const { promise, resolve } = Promise.withResolvers<Buffer | Unread>();
    let body = Buffer.alloc(0);
    let size = 0;
    const stalled = setTimeout(() => end("too slow"), stalledMs);
    const end = (result: Buffer | Unread) => {
      clearTimeout(stalled);
      held -= body.length;
      arriving.delete(end);
      incoming.off("data", take).off("end", complete).off("close", leave);
      resolve(result);
    };
    const take = (chunk: Buffer) => {
      if (size + chunk.length > longest) return end("too long");
      if (size + chunk.length > body.length) {
        const longer = Buffer.allocUnsafe(
          Math.min(announced, Math.max(2 * body.length, size + chunk.length)),
        );
        body.copy(longer, 0, 0, size);
        held += longer.length - body.length;
        body = longer;
      }
      size += chunk.copy(body, size);
      stalled.refresh();
      if (held > arrivingBytes) makeRoom(end, (length === undefined ? size : announced) <= shortBytes);
    };
    const complete = () => end(body.subarray(0, size));
    const leave = () => end("gone");
    arriving.set(end, performance.now());
    incoming.on("error", () => undefined); // The client has gone: "close" follows.
    incoming.on("data", take).on("end", complete).on("close", leave);
    return promise;
  };
}
