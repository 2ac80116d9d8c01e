import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort } from "../../devnet/ports.ts";
import { startServiceProcess } from "../../devnet/service-process.ts";
import { waitFor } from "../../devnet/wait.ts";
import { batchOf, createLabelDatabase } from "../../labels-service/store/database.ts";

/** Writes every second label into a database, like an outdated label set; returns its LABELS_URL. */
export function labelsFile(folder: string, labels: readonly string[]): string {
  const path = join(folder, "labels.sqlite");
  const writer = createLabelDatabase(path, "subgraph");
  writer.add(batchOf(labels.filter((_, i) => i % 2 === 0)));
  writer.finish(new Date());
  return `file:${path}`;
}

/** Serves a database of labels over HTTP, from its own process. */
export async function serveLabels(labelsUrl: string): Promise<{ url: string; stop(): Promise<unknown> }> {
  const port = await freePort();
  const cli = fileURLToPath(new URL("../../labels-service/cli.ts", import.meta.url));
  const service = startServiceProcess({
    name: "label service",
    args: [
      cli,
      "serve",
      "--host",
      "127.0.0.1",
      "--port",
      String(port),
      "--database",
      fileURLToPath(labelsUrl),
    ],
    cwd: fileURLToPath(new URL("../..", import.meta.url)),
    env: { ...process.env },
  });
  const url = `http://127.0.0.1:${port}`;
  await waitFor("the label service", async () => {
    const { ok } = await fetch(`${url}/ready`);
    return ok ? { done: true } : { state: "not ready" };
  });
  return { url, stop: () => service.stop("SIGTERM") };
}
