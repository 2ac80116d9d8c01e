import { setTimeout as sleep } from "node:timers/promises";
import { startNode } from "../../devnet/node.ts";
import { createIndexer } from "../../test/support/indexer.ts";
import { recordedLabels, recordingAs, sepolia, sepoliaDatasources } from "../../test/support/recordings.ts";
import { storedRows } from "../../test/support/stored-rows.ts";
import { createDatabase } from "../world.ts";

/** A node over the recording of the root chain, as if it were sepolia. */
export async function startRecordedNode(head?: number) {
  const node = await startNode({ recording: recordingAs("root", sepolia) });
  if (head !== undefined) node.chain.setHead(head);
  return node;
}

/** The last block of a backfill, and of the chain. */
export const [lastBackfilled, lastBlock] = [1_600, 1_666] as const;

/** Waits until the index has logged a line that has the text; at most so long. */
export async function untilLine(subject: Subject, text: string, timeoutMs: number): Promise<void> {
  const until = Date.now() + timeoutMs;
  while (Date.now() < until && !subject.lines().some((line) => line.includes(text))) await sleep(5);
}

/** The rows of an honest index once its backfill is over, and at the end. */
export async function honestRows(place: Place) {
  const node = await startRecordedNode(lastBackfilled);
  const subject = await createSubject(place, "honest");
  const rowsAt = async (head: number) => {
    node.chain.setHead(head);
    if (!(await subject.reaches(head, 120_000))) throw new Error(subject.lines().slice(-20).join("\n"));
    await subject.settles();
    return subject.rows();
  };
  try {
    subject.start(node.url);
    return { backfilled: await rowsAt(lastBackfilled), atEnd: await rowsAt(lastBlock) };
  } finally {
    await subject.close();
    await node.close();
  }
}

// On a machine with other work everything takes longer.
const patience = Number(process.env["FAULTS_PATIENCE"] ?? 1);

// Ponder has sent a request seven times, the last after eight seconds.
const refusedOften = /Refused .*retry_count=[6-9]|retry_count=[6-9].*Refused/;

/** The Postgres server of all runs, and the folder of compiled modules that they share. */
export type Place = { server: string; compiledModules: string };

/** An index of the chain in a database of its own, whose process is started, stopped and repaired. */
export type Subject = Awaited<ReturnType<typeof createSubject>>;

export async function createSubject({ server, compiledModules }: Place, name: string) {
  const databaseUrl = await createDatabase(server, name);
  let lines: string[] = [];
  let version = 1;
  const schema = () => `names_v${version}`;
  const { url, running, start, run, stop, close } = await createIndexer({
    labels: recordedLabels(["root"]),
    datasources: sepoliaDatasources(),
    ...{ databaseUrl, compiledModules },
    environment: { NAMESPACE: "sepolia", PLUGINS: "subgraph", SUBGRAPH_COMPAT: "true" },
    onLine(line) {
      lines.push(line);
    },
  });
  const settings = (rpcUrls: string) => ({ [`RPC_URL_${sepolia}`]: rpcUrls, DATABASE_SCHEMA: schema() });
  const rows = async (): Promise<Rows> => new Set(await storedRows(databaseUrl, schema()));

  return {
    ...{ running, stop, close, rows },
    ...reader(url, () => running().ending() === undefined && !lines.some((line) => refusedOften.test(line))),
    /** Waits until the index has logged nothing for three seconds: what was queued is done. At most a minute. */
    async settles() {
      for (let turn = 0, before = -1, quiet = 0; turn < 60 && quiet < 3; turn++) {
        quiet = lines.length === before ? quiet + 1 : 0;
        before = lines.length;
        await sleep(1_000);
      }
    },
    /** Rows that the index lacks, and that it has too many. */
    async differences(expected: Rows): Promise<string[]> {
      const found = await rows();
      return [
        ...[...found].filter((row) => !expected.has(row)),
        ...[...expected].filter((row) => !found.has(row)),
      ];
    },
    lines: () => lines,
    /** Runs `npm run cache` with these arguments on the database. */
    runCommand: (args: readonly string[], rpcUrls: string) => run("cache", args, settings(rpcUrls)),
    start(rpcUrls: string) {
      lines = [];
      start(settings(rpcUrls));
    },
    newSchema() {
      version += 1;
    },
  };
}

function reader(url: string, isGoingOn: () => boolean) {
  const get = (path: string) => fetch(`${url}${path}`, { signal: AbortSignal.timeout(5_000) });
  /** Newest indexed block while /ready succeeds; undefined before. */
  async function block(): Promise<number | undefined> {
    const ready = await get("/ready").catch(() => undefined);
    if (ready?.status !== 200) return undefined;
    const chains = Object.values(
      (await (await get("/status")).json()) as Record<string, { block: { number: number } }>,
    );
    return Math.max(...chains.map((chain) => chain.block.number));
  }
  return {
    block,
    /** Waits for a block; false if it is not reached in time, or if the process ends or is stuck before. */
    async reaches(wanted: number, timeoutMs: number): Promise<boolean> {
      const until = Date.now() + timeoutMs * patience;
      while (Date.now() < until && isGoingOn()) {
        const found = await block().catch(() => undefined);
        if (found !== undefined && found >= wanted) return true;
        await sleep(150);
      }
      return false;
    },
    /** Why the index says that it is not right; undefined if it does not. */
    async fault(): Promise<string | undefined> {
      const text = await (await get("/api/indexing-status")).text();
      const found = /"reason":("(?:[^"\\]|\\.)*")/.exec(text)?.[1];
      return found === undefined ? undefined : (JSON.parse(found) as string);
    },
  };
}

/** Each row as a text that begins with its table. */
export type Rows = ReadonlySet<string>;
