import { type Log, seeOperations } from "../../log/json-log.ts";

/** Versions of the source of labels: of its software, and of the schema of its database; and what it holds, once known. */
export type LabelsVersion = {
  version: string;
  schemaVersion: number;
  highestLabelSetVersion?: number | undefined;
  recordsCount?: number | undefined;
};

// After a response and after a failure.
const [askAgainMs, retryMs] = [60_000, 5_000];

/** Follows the versions of the source of labels, which may be upgraded while this program runs. */
export type LabelsVersionWatch = {
  /** The last known versions. Until the source first responds, "unknown" and the schema this program is written for. */
  current(): LabelsVersion;
  stop(): void;
};

/**
 * Asks the source of labels for its versions, at once and then every minute, every five seconds while it does not respond: meanwhile
 * the last response counts. `log` gets the first of successive failures.
 */
export function watchLabelsVersion({
  describe,
  expectedSchemaVersion,
  log,
}: {
  describe: () => Promise<LabelsVersion>;
  expectedSchemaVersion: number;
  log: Log;
}): LabelsVersionWatch {
  let current: LabelsVersion = { version: "unknown", schemaVersion: expectedSchemaVersion };
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;

  const ask = async (isRetry: boolean) => {
    const hasFailed = await describe().then(
      ({ version, schemaVersion, highestLabelSetVersion, recordsCount }) => {
        current = { version, schemaVersion, highestLabelSetVersion, recordsCount };
        return false;
      },
      (error: unknown) => {
        if (!isRetry && !isStopped)
          log("warn", `The label source does not report its version: ${String(error)}`, {
            section: seeOperations("While something is away"),
          });
        return true;
      },
    );
    if (!isStopped) timer = setTimeout(() => void ask(hasFailed), hasFailed ? retryMs : askAgainMs).unref();
  };
  void ask(false);

  return {
    current: () => current,
    stop: () => {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
