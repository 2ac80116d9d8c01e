// The process that fetches and checks images, apart from the index and its secrets: `process.ts` starts it, and asks it
// over HTTP.

import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setPriority } from "node:os";
import { json } from "node:stream/consumers";
import { card } from "./card.ts";
import { createMedia, type Image, MediaError } from "./media.ts";
import type { MediaRequest, MediaSettings } from "./process.ts";
import { openStore } from "./store.ts";

type Media = ReturnType<typeof createMedia>;

async function answer(media: Media, asked: MediaRequest, signal: AbortSignal): Promise<Image> {
  const { want, uri, token, card: text } = asked;
  const find = async (): Promise<Image> => {
    if (token === undefined) return media.image(uri, signal);
    // ERC-1155: `{id}` in the URI stands for the token's id, 64 hex digits. A `0x` before it is part of the URI.
    const metadata = await media.metadata(uri.replaceAll("{id}", token), signal);
    if (want === "metadata")
      return { type: "application/json", bytes: Buffer.from(JSON.stringify(metadata)) };
    const named = ["image", "image_url", "image_data"].map((member) => metadata[member]);
    const image = named.find((one) => typeof one === "string" && one !== "");
    if (image === undefined) throw new MediaError("The metadata of the token names no image.");
    return media.image(String(image), signal);
  };
  return text === undefined ? find() : card(text, uri ? await find().catch(() => undefined) : undefined);
}

async function respond(media: Media, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const leaving = new AbortController();
  outgoing.on("close", () => leaving.abort());
  try {
    const { type, bytes } = await answer(media, (await json(incoming)) as MediaRequest, leaving.signal);
    const etag = `"${createHash("sha256").update(bytes).digest("base64url").slice(0, 22)}"`;
    outgoing.writeHead(200, { "content-type": type, "content-length": bytes.length, etag }).end(bytes);
  } catch (error) {
    const isExpected = error instanceof MediaError || leaving.signal.aborted;
    if (!isExpected) console.error(error);
    const { status, message } = error instanceof MediaError ? error : { status: 404, message: "No image." };
    outgoing.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ message }));
  }
}

async function serve(settings: MediaSettings): Promise<void> {
  const store = await openStore(settings.folder, settings.megabytes * 2 ** 20).catch((error: Error) => {
    console.error(`METADATA_CACHE_DIR cannot be used, no image is kept: ${error.message}`);
    return undefined;
  });
  const media = createMedia({ ...settings, store });
  const server = createServer((incoming, outgoing) => void respond(media, incoming, outgoing));
  // Of requests that run, and of images that clients read slowly.
  server.maxConnections = 32;
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const tell = () => process.send?.({ port });
  tell();
  // The parent ends a process that falls silent.
  setInterval(tell, 2_000);
}

// Indexing comes first.
setPriority(10);
process.once("message", (settings: MediaSettings) => void serve(settings));
// The parent has ended, if only by kill -9.
process.on("disconnect", () => process.exit());
