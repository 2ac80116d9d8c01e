import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type ServiceProcess, startServiceProcess } from "./service-process.ts";
import { type Look, WaitError, waitFor } from "./wait.ts";

/** The project's folder. */
export const projectRoot = fileURLToPath(new URL("..", import.meta.url));

type IndexingServiceOptions = {
  /** Working directory: it must not contain an `.env.local` that redirects the service. */
  cwd: string;
  env: Readonly<Record<string, string | undefined>>;
  /** `serve` serves the index of another process. */
  command?: "start" | "serve";
  /** Options of Ponder. */
  options?: readonly string[];
  onLine?: ((line: string) => void) | undefined;
};

/** Starts the indexing service as `npm start` or `npm run serve` does, with exactly this environment. */
export function startIndexingService({
  command = "start",
  options = [],
  ...service
}: IndexingServiceOptions) {
  const args = [join(projectRoot, "cli/ponder.ts"), command, ...options];
  return startServiceProcess({ name: "indexing service", args, ...service });
}

/**
 * Like `waitFor`, but throws a WaitError as soon as one of the services has ended, and with their last lines when time
 * runs out.
 */
export async function waitWhileRunning<Result>(
  services: readonly ServiceProcess[],
  what: string,
  look: () => Promise<Look<Result>>,
  options: { timeoutMs?: number; everyMs?: number } = {},
): Promise<Result> {
  try {
    return await waitFor(
      what,
      async () => {
        for (const service of services) requireRunning(service);
        return look();
      },
      options,
    );
  } catch (error) {
    const lines = services.flatMap((service) =>
      service.ending() === undefined ? [`Last lines of the ${service.name}:`, ...service.lastLines(20)] : [],
    );
    if (error instanceof WaitError) error.message = [error.message, ...lines].join("\n");
    throw error;
  }
}

/** Done once a URL answers with 200. */
export const isAnswered = (url: string) => async (): Promise<Look<number>> => {
  const { status } = await fetch(url, { signal: AbortSignal.timeout(5_000) });
  return status === 200 ? { done: status } : { state: `${url} answers ${status}` };
};

/** Throws a WaitError with the service's last lines if it has ended. */
export function requireRunning(service: ServiceProcess): void {
  if (service.ending() !== undefined) throw new WaitError(describeEnding(service));
}

/** How a service ended, and its last lines. */
export function describeEnding(service: ServiceProcess): string {
  const ending = service.ending();
  const how = ending?.signal ?? `exit code ${ending?.code}`;
  return [`The ${service.name} ended (${how}). Its last lines:`, ...service.lastLines(30)].join("\n");
}
