import type { Log } from "./json-log.ts";
import { ponderLogger } from "./ponder/process.ts";

/** The log of this process: Ponder's where it runs, so that level and format are the operator's, else standard error. */
export function processLog(): Log {
  const ponder = ponderLogger();
  return (level, message, fields) => {
    if (ponder) ponder[level]({ msg: message, ...fields });
    else console.error(JSON.stringify({ level, msg: message, ...fields }));
  };
}
