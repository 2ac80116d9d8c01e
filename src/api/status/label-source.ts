/** What the source of labels says of itself: its software version and the schema version of its database. */
export type LabelSource = { version: string; schemaVersion: number };

const askAgainMs = 60_000;
const firstRetryMs = 1_000;

export type LabelSourceWatch = {
  /** The last answer of the source. Until it first answers, version "unknown" and the schema this program is made for. */
  current(): LabelSource;
  stop(): void;
};

/**
 * Asks the source of labels what it is, at once and then every minute; after a failure again with growing pauses
 * (1 to 60 s) while the last answer stays. `log` gets the first failure of a row.
 */
export function watchLabelSource({
  describe,
  expectedSchemaVersion,
  log,
}: {
  describe: () => Promise<LabelSource>;
  expectedSchemaVersion: number;
  log: (message: string) => void;
}): LabelSourceWatch {
  let current: LabelSource = { version: "unknown", schemaVersion: expectedSchemaVersion };
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;

  const ask = async (failures: number) => {
    const pause = await describe().then(
      ({ version, schemaVersion }) => {
        current = { version, schemaVersion };
        return { ms: askAgainMs, failures: 0 };
      },
      (error: unknown) => {
        if (failures === 0 && !isStopped)
          log(`The source of labels does not say its version: ${String(error)}`);
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
