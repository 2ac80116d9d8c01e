import { type Log, seeOperations } from "../../log/json-log.ts";

/** Versions of the source of labels: of its software, and of the schema of its database; and what it holds, once known. */
export type LabelsVersion = {
  version: string;
  schemaVersion: number;
  highestLabelSetVersion?: number | undefined;
  recordsCount?: number | undefined;
};

const askAgainMs = 60_000;

const firstRetryMs = 1_000;

/** Follows the versions of the source of labels, which may be upgraded while this program runs. */
export type LabelsVersionWatch = {
  /** The last known versions. Until the source first responds, "unknown" and the schema this program is written for. */
  current(): LabelsVersion;
  stop(): void;
};

/**
 * Asks the source of labels for its versions, at once and then every minute; after a failure with growing pauses (1 to
 * 60 s), meanwhile the last response counts. `log` gets the first of successive failures.
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

  const ask = async (failures: number) => {
    const pause = await describe().then(
      ({ version, schemaVersion, highestLabelSetVersion, recordsCount }) => {
        current = { version, schemaVersion, highestLabelSetVersion, recordsCount };
        return { ms: askAgainMs, failures: 0 };
      },
      (error: unknown) => {
        if (failures === 0 && !isStopped)
          log("warn", `The label source does not report its version: ${String(error)}`, {
            section: seeOperations("While something is away"),
          });
        return { ms: Math.min(firstRetryMs * 2 ** failures, askAgainMs), failures: failures + 1 };
      },
    );
    if (!isStopped) timer = setTimeout(() => void ask(pause.failures), pause.ms).unref();
  };
  void ask(0);

  return {
    current: () => current,
    stop: () => {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
