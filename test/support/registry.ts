type Handler = (input: { event: unknown; context: unknown }) => Promise<void>;

/** Handlers that plugins registered, by `Source:Event`. */
export const handlers = new Map<string, Handler>();

/** Stand-in for Ponder's registry (`ponder:registry`): collects indexing functions for unit tests. */
export const ponder = {
  on(name: string, handler: Handler): void {
    if (handlers.has(name)) throw new Error(`Multiple indexing functions registered for "${name}".`);
    handlers.set(name, handler);
  },
};
