import { createHash } from "node:crypto";
import { appendFileSync, createReadStream, existsSync, rmSync, statSync } from "node:fs";
import { escapeControls, formatSpan } from "../../src/log/json-log.ts";
import { formatMegabytes, type Output, type ReportProgress } from "../../src/log/progress-log.ts";
import { fetchFollowing, readUpTo } from "../../src/rpc/public-address.ts";
import { readRetryAfter } from "../../src/rpc/retry-after.ts";

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

/** SHA-256 of a file in hexadecimal; undefined if there is no file. */
export async function computeSum(path: string, progress: ReportProgress): Promise<string | undefined> {
  if (!existsSync(path)) return undefined;
  const [hash, size, stream] = [createHash("sha256"), sizeOf(path), createReadStream(path)];
  for await (const bytes of stream) {
    hash.update(bytes);
    progress("checking", stream.bytesRead, stream.bytesRead / size);
  }
  return hash.digest("hex");
}

/** Bytes of a file; 0 if there is none. */
export const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/** What to download, and where to. `checkSize` throws for more bytes than there may be. */
type Download = { path: string; sha256: string; progress: ReportProgress; checkSize(bytes: number): void };

/**
 * Downloads what a file lacks, and resumes broken transfers. Throws a `DownloadError` if the host does not send the
 * content of the sum `sha256`. The file is missing then, or has what the host sent until it failed.
 */
export async function downloadFile(
  url: string,
  { path, sha256, progress, checkSize }: Download,
  options: DownloadOptions,
): Promise<void> {
  let size = sizeOf(path);
  let total: number | undefined;
  const clear = () => {
    rmSync(path, { force: true });
    size = 0;
  };
  const receive = async (response: Response, refresh: () => void) => {
    if (response.status !== 206) clear();
    if (response.status === 416) throw new OutageError("it has fewer bytes than before");
    const extent = readExtent(response);
    if (extent.start !== size)
      throw new DownloadError(`${describeFile(url)} comes with another range than requested.`);
    if (total !== undefined && extent.total !== total)
      throw new DownloadError(`${describeFile(url)} has ${extent.total} bytes, not ${total}: it changed.`);
    total = extent.total;
    checkSize(total ?? 0);
    for await (const bytes of response.body ?? []) {
      refresh();
      checkSize(size + bytes.length);
      appendFileSync(path, bytes);
      size += bytes.length;
      progress("downloading", size, total && size / total);
    }
    if (size < (total ?? 0)) throw new OutageError("the transfer ended early");
  };
  const from = size === 0 ? "" : `, from ${formatMegabytes(size)} on`;
  options.stderr.write(`Downloading ${describeFile(url)}${from}.\n`);
  const attempt = () => request(url, size === 0 ? {} : { range: `bytes=${size}-` }, options, receive);
  await untilDone(url, options, attempt, () => size);
  if ((await computeSum(path, progress)) === sha256) return;
  clear();
  throw new DownloadError(`${describeFile(url)} does not have the SHA-256 ${sha256}.`);
}

/** First byte of a response, and bytes of the whole file if the host says. */
function readExtent({ status, headers }: Response): { start: number; total: number | undefined } {
  const range = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(headers.get("content-range") ?? "");
  const [start, total] =
    status === 206 ? [range?.[1], range?.[2]] : [0, headers.get("content-length") ?? "*"];
  return { start: Number(start), total: total === "*" ? undefined : Number(total) };
}

/** Requests a file, and gives the response to `use`, which calls `refresh` when bytes arrive. */
async function request<T>(
  url: string,
  headers: { range?: string },
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

function checkResponse(url: string, response: Response, isRange: boolean): void {
  const { status, headers } = response;
  const what = describeFile(url);
  if (status === 408 || status === 429 || status >= 500)
    throw new OutageError(`status ${status}`, readRetryAfter(response));
  if (status === 404) throw new DownloadError(`There is no ${what}.`);
  if (status !== 200 && !(isRange && (status === 206 || status === 416)))
    throw new DownloadError(`The request for ${what} is answered with status ${status}.`);
  if (/^text\/html/i.test(headers.get("content-type") ?? ""))
    throw new DownloadError(`Instead of ${what} comes a web page.`);
  // fetch() unpacks it, and then neither length nor ranges fit.
  if (headers.has("content-encoding")) throw new DownloadError(`The host packs ${what} for its transfer.`);
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
