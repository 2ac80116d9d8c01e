import { createHash } from "node:crypto";
import fs from "node:fs/promises";
import { escapeControls, formatSpan } from "../../src/log/json-log.ts";
import { formatMegabytes, type Output, type ReportProgress } from "../../src/log/progress-log.ts";
import { fetchFollowing, readUpTo } from "../../src/rpc/public-address.ts";

/** What a host sends that another attempt would not change. */
export class DownloadError extends Error {
  override name = "DownloadError";
}

/** A failure that may pass. The host may say in how many milliseconds. */
class OutageError extends Error {
  readonly retryAfterMs: number | undefined;
  constructor(message: string, retryAfterMs?: number) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

/** Where remarks go, and limits of time. `wait` pauses for some milliseconds. */
export type DownloadOptions = { stderr: Output; idleMs: number; wait(ms: number): Promise<unknown> };

const mostFailures = 6;
const longestWaitMs = 600_000;
const longestText = 1_000_000;

/** The text of a small file. Throws a `DownloadError` if the host has none. */
export function downloadText(url: string, options: DownloadOptions): Promise<string> {
  const tooLong = () => new DownloadError(`${describeFile(url)} is too long.`);
  return untilDone(url, options, () =>
    request(url, {}, options, async ({ body }) =>
      (await readUpTo(longestText, body ?? [], tooLong)).toString("utf8"),
    ),
  );
}

/** A file in the making, with the SHA-256 of its content. */
type PartialFile = Awaited<ReturnType<typeof openPartialFile>>;

/** Opens the file at `path` to add to it. Reads what it has, and creates it if it is absent. */
export async function openPartialFile(path: string, progress: ReportProgress) {
  const file = await fs.open(path, "a+");
  let [hash, size] = [createHash("sha256"), 0];
  const count = (bytes: Uint8Array) => {
    hash.update(bytes);
    size += bytes.length;
  };
  const { size: stored } = await file.stat();
  for await (const bytes of file.createReadStream({ start: 0, autoClose: false })) {
    count(bytes);
    progress("checking", size, size / stored);
  }
  return {
    size: () => size,
    /** The sum in hexadecimal. */
    sum: () => hash.copy().digest("hex"),
    add: async (bytes: Uint8Array) => {
      await file.appendFile(bytes);
      count(bytes);
    },
    clear: async () => {
      await file.truncate(0);
      [hash, size] = [createHash("sha256"), 0];
    },
    close: () => file.close(),
  };
}

/** What to download: `checkSize` throws for more bytes than there may be. */
type Download = {
  file: PartialFile;
  sha256: string;
  progress: ReportProgress;
  checkSize(bytes: number): void;
};

/**
 * Downloads what a partial file lacks, and resumes broken transfers. Throws a `DownloadError` if the host does not send
 * the content of the sum `sha256`. The file is empty then, or has what the host sent until it failed.
 */
export async function downloadInto(
  url: string,
  { file, sha256, progress, checkSize }: Download,
  options: DownloadOptions,
): Promise<void> {
  const from = file.size() === 0 ? "" : `, from ${formatMegabytes(file.size())} on`;
  options.stderr.write(`Downloading ${describeFile(url)}${from}.\n`);
  let total: number | undefined;
  const receive = async (response: Response, refresh: () => void) => {
    const announced = await readTotal(url, response, file);
    if (total !== undefined && announced !== total)
      throw new DownloadError(`${describeFile(url)} has ${announced} bytes, not ${total}: it changed.`);
    total = announced;
    checkSize(total ?? 0);
    for await (const bytes of response.body ?? []) {
      refresh();
      checkSize(file.size() + bytes.length);
      await file.add(bytes);
      progress("downloading", file.size(), total && file.size() / total);
    }
    if (file.size() < (total ?? 0)) throw new OutageError("the transfer ended early");
  };
  const attempt = () => {
    const headers: Record<string, string> = file.size() > 0 ? { range: `bytes=${file.size()}-` } : {};
    return request(url, headers, options, receive);
  };
  await untilDone(url, options, attempt, file.size);
  if (file.sum() === sha256) return;
  await file.clear();
  throw new DownloadError(`${describeFile(url)} does not have the SHA-256 ${sha256}.`);
}

/** The bytes of the whole file; undefined if the host does not say. Empties the partial file if it is not resumed. */
async function readTotal(url: string, response: Response, file: PartialFile): Promise<number | undefined> {
  const { status, headers } = response;
  if (status === 206) {
    const [, start, total] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(headers.get("content-range") ?? "") ?? [];
    if (Number(start) !== file.size())
      throw new DownloadError(`${describeFile(url)} comes with another range than requested.`);
    return total === "*" ? undefined : Number(total);
  }
  await file.clear();
  if (status === 416) throw new OutageError("it has fewer bytes than before");
  const length = headers.get("content-length");
  return length === null ? undefined : Number(length);
}

/** Requests a file, and gives the response to `use`, which calls `refresh` when bytes arrive. */
async function request<T>(
  url: string,
  headers: Record<string, string>,
  { idleMs }: DownloadOptions,
  use: (response: Response, refresh: () => void) => Promise<T>,
): Promise<T> {
  const stopped = new AbortController();
  const silence = new OutageError(`it sends nothing for ${idleMs / 1_000} s`);
  const idle = setTimeout(() => stopped.abort(silence), idleMs);
  try {
    const response = await fetchFollowing(url, {
      headers: { "accept-encoding": "identity", ...headers },
      signal: stopped.signal,
      refusal: (problem) => new DownloadError(problem),
    });
    checkResponse(url, response, "range" in headers);
    return await use(response, () => void idle.refresh());
  } finally {
    clearTimeout(idle);
    // Discards an unread response.
    stopped.abort();
  }
}

function checkResponse(url: string, { status, headers }: Response, isRange: boolean): void {
  const what = describeFile(url);
  if (status === 408 || status === 429 || status >= 500)
    throw new OutageError(`status ${status}`, parseRetryAfter(headers.get("retry-after")));
  if (status === 404) throw new DownloadError(`There is no ${what}.`);
  if (status !== 200 && !(isRange && (status === 206 || status === 416)))
    throw new DownloadError(`The request for ${what} is answered with status ${status}.`);
  if (/^text\/html/i.test(headers.get("content-type") ?? ""))
    throw new DownloadError(`Instead of ${what} comes a web page.`);
  // fetch() unpacks it, and then neither length nor ranges fit.
  if (headers.has("content-encoding")) throw new DownloadError(`The host packs ${what} for its transfer.`);
}

/** Milliseconds of a Retry-After header, which is a number of seconds or a date; undefined for any other text. */
function parseRetryAfter(text: string | null): number | undefined {
  const ms = /^\d+$/.test(text ?? "") ? Number(text) * 1_000 : Date.parse(text ?? "") - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

/** Repeats an attempt that fails by an outage, with growing pauses, until several in turn made no progress. */
async function untilDone<T>(
  url: string,
  { stderr, wait }: DownloadOptions,
  attempt: () => Promise<T>,
  position = () => 0,
): Promise<T> {
  for (let [failures, furthest] = [1, position()]; ; failures++) {
    try {
      return await attempt();
    } catch (error) {
      // fetch() fails with a TypeError.
      if (!(error instanceof OutageError || error instanceof TypeError)) throw error;
      const reason = escapeControls(describeOutage(error));
      if (position() > furthest) [failures, furthest] = [1, position()];
      const asked = error instanceof OutageError ? error.retryAfterMs : undefined;
      const waitMs = asked ?? 1_000 * 2 ** (failures - 1);
      if (failures === mostFailures || waitMs > longestWaitMs)
        throw new DownloadError(`${describeFile(url)} cannot be downloaded now: ${reason}.`);
      stderr.write(`${new URL(url).host}: ${reason}; next attempt in ${formatSpan(waitMs / 1_000)}.\n`);
      await wait(waitMs);
    }
  }
}

function describeOutage({ cause, message }: Error): string {
  // The error of several addresses has no message.
  const { message: reason, code } = (cause ?? {}) as NodeJS.ErrnoException;
  return reason || code || message;
}

/** File and host of a URL, for messages: the path between them may hold a key. */
function describeFile(url: string): string {
  const { host, pathname } = new URL(url);
  return `${pathname.split("/").at(-1)} at ${host}`;
}
