/** An event that the rules will handle soon: `<contract entry>:<event>` and its arguments. */
export type EventAhead = {
  eventCallback: { name: string };
  event?: { args?: Readonly<Record<string, unknown>> };
};

/** Prepares for the events of a batch; they are handled once it resolves. */
type Prepare = (events: readonly EventAhead[]) => Promise<void>;

const sharedKey = Symbol.for("nsindex.prefetch-events");

/** Who prepares for the events of a batch besides the store of rows. */
export function sharedPreparation(scope: object = globalThis): { prepare?: Prepare } {
  // ponder: `dev` loads the indexing functions and the store apart, so that they share no module.
  const shared = scope as { [sharedKey]?: { prepare?: Prepare } };
  shared[sharedKey] ??= {};
  return shared[sharedKey];
}
