import { createHash, randomUUID } from "node:crypto";
import fs from "node:fs/promises";
import { join } from "node:path";
import { LRUCache } from "lru-cache";

const day = 86_400_000;
// Files take whole blocks of the disk.
const block = 4_096;

/** Files by key, for a day, in a folder that is bounded. */
export type Store = Awaited<ReturnType<typeof openStore>>;

/**
 * Opens a folder of files that together take at most `maxBytes`; those that were not read for longest make room. One
 * process uses it.
 */
export async function openStore(folder: string, maxBytes: number) {
  await fs.mkdir(folder, { recursive: true });
  const path = (name: string) => join(folder, name);
  const remove = (name: string) => fs.unlink(path(name)).catch(() => undefined);
  const sizes = new LRUCache<string, number>({
    maxSize: maxBytes,
    ttl: day,
    sizeCalculation: (bytes) => block * Math.max(1, Math.ceil(bytes / block)),
    dispose: (_, name, reason) => void (reason !== "set" && remove(name)),
  });
  const keep = (name: string, bytes: number, ttl = day) => {
    // What is larger than the bound is not taken in.
    if (!sizes.set(name, bytes, { ttl }).has(name)) void remove(name);
  };
  const names = (await fs.readdir(folder)).filter((name) => /^[0-9a-f]{64}(\.[0-9a-f-]{36})?$/.test(name));
  const found = await Promise.all(names.map(async (name) => ({ name, ...(await fs.stat(path(name))) })));
  for (const { name, size, mtimeMs } of found.sort((one, other) => one.mtimeMs - other.mtimeMs)) {
    const ttl = Math.floor(mtimeMs + day - Date.now());
    // What a killed process was writing has a longer name.
    if (name.length > 64 || ttl <= 0) await remove(name);
    else keep(name, size, ttl);
  }
  const nameOf = (key: string) => createHash("sha256").update(key).digest("hex");
  return {
    /** The bytes of a key; undefined without them. */
    async read(key: string): Promise<Buffer | undefined> {
      const name = nameOf(key);
      return sizes.get(name) === undefined ? undefined : fs.readFile(path(name)).catch(() => undefined);
    },
    /** Keeps the bytes of a key. A disk that is full or read-only keeps nothing. */
    async write(key: string, bytes: Buffer): Promise<void> {
      const name = nameOf(key);
      const unfinished = path(`${name}.${randomUUID()}`);
      try {
        await fs.writeFile(unfinished, bytes);
        await fs.rename(unfinished, path(name));
        keep(name, bytes.length);
      } catch {
        await fs.unlink(unfinished).catch(() => undefined);
      }
    },
  };
}
