import { nextTurn } from "../../http/turn.ts";
import { currentClient } from "../database/queue.ts";

/** Lets other requests, those of other clients first, have their turn. */
export const yieldToEventLoop = () => nextTurn(currentClient());
