import type { Log, LogFields, LogLevel } from "./json-log.ts";

type PonderLogger = Record<LogLevel, (line: { msg: string } & LogFields) => void>;

/** The log of this process: Ponder's where it runs, so that level and format are the operator's, else standard error. */
export function processLog(): Log {
  return (level, message, fields) => {
    const ponder = (globalThis as { PONDER_COMMON?: { logger: PonderLogger } }).PONDER_COMMON;
    if (ponder) ponder.logger[level]({ msg: message, ...fields });
    else console.error(JSON.stringify({ level, msg: message, ...fields }));
  };
}
