type Level = "info" | "warn" | "error";
type Fields = Record<string, string | number>;

/** Writes one line of log: what happened, and the facts. */
export type Log = (level: Level, message: string, fields: Fields) => void;

type PonderLogger = Record<Level, (line: { msg: string } & Fields) => void>;

/** The log of this process: Ponder's where it runs, so that level and format are the operator's, else standard error. */
export function processLog(): Log {
  return (level, message, fields) => {
    const ponder = (globalThis as { PONDER_COMMON?: { logger: PonderLogger } }).PONDER_COMMON;
    if (ponder) ponder.logger[level]({ msg: message, ...fields });
    else console.error(JSON.stringify({ level, msg: message, ...fields }));
  };
}
