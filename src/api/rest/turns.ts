import { nextTurn } from "../../http/turn.ts";
import { currentClient } from "../database/client.ts";

/** Lets other requests, those of other clients first, have their turn. */
export const yieldToEventLoop = () => nextTurn(currentClient());

/** Yields each time that `most` work was done; the caller tells how much it does, in a unit of its own. */
export function createPacer(most: number): (work: number) => Promise<void> {
  let done = 0;
  return async (work) => {
    done += work;
    if (done < most) return;
    done = 0;
    await yieldToEventLoop();
  };
}
