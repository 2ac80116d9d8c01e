import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Hex, labelhash, zeroAddress } from "viem";
import { emits } from "../../devnet/events.ts";
import { isAnswered } from "../../devnet/indexing-service.ts";
import { readDeployment, register } from "../../devnet/life.ts";
import { startNode } from "../../devnet/node.ts";
import { freePort } from "../../devnet/ports.ts";
import { createRandom } from "../../devnet/random.ts";
import { chainIds } from "../../devnet/recorded-chains.ts";
import { waitFor } from "../../devnet/wait.ts";
import { createIndexer, indexedBlock } from "../../test/support/indexer.ts";
import { startPgBouncer } from "../../test/support/pgbouncer.ts";
import { startPostgres } from "../../test/support/postgres.ts";
import { childrenOf } from "../../test/support/process-tree.ts";
import { recordedLabels, recordingOf } from "../../test/support/recordings.ts";
import { clock, ownerAt } from "./clock.ts";

const settings = ["wal_level=replica", "max_wal_senders=8", "max_connections=300", "shared_buffers=256MB"];

/** Everything that runs: a chain, an indexer on a primary, two standbys, four readers. */
export type ReplicaWorld = Awaited<ReturnType<typeof startReplicas>>;

type Reader = Awaited<ReturnType<Awaited<ReturnType<typeof createIndexer>>["startBeside"]>>;

/**
 * The recorded root chain, on which a block comes each second that changes `clock.eth`, and replaces up to three others
 * about every tenth time. Timestamps are those of one block of all branches.
 */
async function startChain() {
  const node = await startNode({ recording: recordingOf("root") });
  const root = readDeployment("root");
  const random = createRandom(1);
  const hashes = new Map<number, Hex>();
  let timestamp = Math.floor(Date.now() / 1_000) - 600;
  const mine = (more: ReturnType<typeof register>[] = []) => {
    timestamp += 1;
    const owner = ownerAt(node.chain.head() + 1, timestamp);
    const logs = [
      emits.registryTransfer(root.registry, clock, owner),
      emits.newOwner(root.registry, clock, labelhash(`at${timestamp}`), owner),
      emits.textChanged(root.resolver, clock, "url", "url", owner),
    ];
    const sale = register(root, { label: `sold${timestamp}`, owner, expires: 2_000_000_000n });
    const changes = { from: owner, to: root.registry, value: 0n, logs };
    const { hash } = node.mineBlock({ timestamp, transactions: [...more, changes, sale] });
    hashes.set(timestamp, hash);
  };
  mine([register(root, { label: "clock", owner: zeroAddress, expires: 2_000_000_000n })]);
  const first = node.chain.head();
  let ticking: NodeJS.Timeout | undefined;
  let reorganizations = 0;
  const tick = () => {
    const depth = random.below(10) === 0 ? 1 + random.below(3) : 0;
    if (depth > 0) reorganizations += 1;
    node.chain.setHead(Math.max(first, node.chain.head() - depth));
    for (let block = 0; block <= depth; block++) mine();
  };
  return {
    ...{ node, hashes },
    /** The block before the first subname of `clock.eth`. */
    base: first - 1,
    reorganizations: () => reorganizations,
    start() {
      ticking = setInterval(tick, 1_000);
    },
    async close() {
      clearInterval(ticking);
      await node.close();
    },
  };
}

/** Starts all of it, and settles once every reader is at the head. */
export async function startReplicas() {
  const folder = mkdtempSync(join(tmpdir(), "bench-replicas-"));
  const primary = await startPostgres(settings);
  const standby = () => startPostgres([...settings, "hot_standby_feedback=on"], primary.url);
  const [near, far] = [await standby(), await standby()];
  const chain = await startChain();
  const indexer = await createIndexer({
    ...{ labels: recordedLabels(["root"]), compiledModules: join(folder, "modules") },
    databaseUrl: primary.url,
    environment: {
      ...{ NAMESPACE: "ens-test-env", PLUGINS: "subgraph,registrars,protocol-acceleration" },
      ...{ DATABASE_SCHEMA: "names_v1", DATABASE_STABLE_SCHEMA: "names", TRUST_PROXY: "1" },
      [`RPC_URL_${chainIds.root}`]: chain.node.url,
    },
  });
  const isAtHead = (url: string) =>
    waitFor(url, async () => {
      await isAnswered(`${url}/ready`)();
      const [head, wanted] = [await indexedBlock(url), chain.node.chain.head()];
      return head >= wanted - 1 ? { done: head } : { state: `block ${head} of ${wanted}` };
    });
  /** Has readers served from an index. */
  const switchTo = (schema: string) =>
    waitFor(schema, async () => {
      const { code, output } = await indexer.run("db", ["switch", schema]);
      return code === 0 ? { done: output } : { state: output };
    });
  indexer.start();
  await isAtHead(indexer.url);
  await switchTo("names_v1");
  const pooled = await startPgBouncer(near.url, "transaction", { connections: 12 });
  const session = await startPgBouncer(far.url, "session", {
    ...{ connections: 40, settings: ["ignore_startup_parameters = statement_timeout"] },
  });
  const kinds: Record<string, string>[] = [
    { DATABASE_READ_URLS: `${near.url},${far.url}` },
    { DATABASE_READ_URLS: `${far.url},${near.url}` },
    { DATABASE_URL: pooled.url, DATABASE_POOLER: "transaction" },
    { DATABASE_URL: session.url },
  ];
  const running = new Set<Reader>();
  /** Starts a reader of a kind, on a port if given. */
  async function startReader(kind: number, port?: number) {
    const own = port ?? (await freePort());
    const started = await indexer.startBeside("serve", { PORT: String(own), ...kinds[kind] });
    running.add(started);
    const reader = { ...started, port: own, url: `http://127.0.0.1:${own}` };
    await isAtHead(reader.url);
    return {
      ...reader,
      pid: (await childrenOf(started.pid))[0],
      async end() {
        running.delete(started);
        started.kill();
        await started.ended;
      },
    };
  }
  const readers = await Promise.all(kinds.map((_, kind) => startReader(kind)));
  chain.start();
  return {
    ...{ primary, near, far, chain, indexer, readers, startReader, switchTo, isAtHead },
    async close() {
      await Promise.all([...running].map((reader) => reader.stop()));
      await indexer.close();
      await chain.close();
      for (const server of [pooled, session, far, near, primary]) await server.stop();
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
