import {
  PGlite as Published,
  parse,
  protocol,
  type QueryOptions,
  type Results,
  type Transaction,
} from "@electric-sql/pglite";

// The embedded database as Ponder gets it (scripts/preload.mjs), in place of PGlite's class. That sends six messages for each
// statement, every one a call into WebAssembly, and copies its three hundred parsers; here it is five, and three for an
// insertion that comes again. Results and errors are the same.

const { serialize } = protocol;
const { parseDescribeStatementResults: parameterTypesIn, parseResults } = parse;

type Messages = Parameters<typeof parseResults>[0];
type Columns = { fields: { dataTypeID: number }[] };
type Serializer = Published["serializers"][number];
type Statement = {
  name: string;
  serializers: (Serializer | undefined)[];
  columns: Messages;
  parsers: Published["parsers"];
};
type Query = { text: string; values: readonly unknown[]; options: QueryOptions | undefined };

/** A database and the insertions that it has seen, by their text; those seen once are not prepared. */
type Session = { database: Published; seen: Map<string, Statement | undefined> };

const maxSeen = 500;
const maxLength = 20_000;

let opened: Published | undefined;

/**
 * The embedded database, as `new PGlite(options)`. ponder: opens it, asks for its version, closes it and opens it again, which
 * takes a second; here the first close is none, and the second call returns what is open.
 */
export function PGlite(options: ConstructorParameters<typeof Published>[0]): Published {
  if (opened !== undefined) return opened;
  const database = new Published(options);
  const close = database.close.bind(database);
  let isChecked = false;
  opened = Object.assign(withFewerMessages(database), {
    close: async () => {
      if (isChecked) await close();
      isChecked = true;
    },
  });
  return opened;
}

/** The same database, which from here on exchanges fewer messages for each statement. */
export function withFewerMessages(database: Published): Published {
  const published = {
    query: database.query.bind(database),
    transaction: database.transaction.bind(database),
  };
  const session: Session = { database, seen: new Map() };
  return Object.assign(database, {
    query: async <Row>(text: string, values: unknown[] = [], options?: QueryOptions) => {
      // What comes with a file, as Ponder's COPY does.
      if (options?.blob !== undefined) return published.query<Row>(text, values, options);
      await database._checkReady();
      return database._runExclusiveTransaction(() => run<Row>(session, { text, values, options }));
    },
    transaction: <T>(work: (transaction: Transaction) => Promise<T>) =>
      published.transaction((transaction) => work(faster(session, transaction))),
  });
}

function faster(session: Session, transaction: Transaction): Transaction {
  const query = async <Row>(text: string, values: unknown[] = [], options?: QueryOptions) => {
    if (options?.blob !== undefined || transaction.closed)
      return transaction.query<Row>(text, values, options);
    return run<Row>(session, { text, values, options });
  };
  return Object.create(transaction, { query: { value: query } }) as Transaction;
}

async function run<Row>(session: Session, query: Query): Promise<Results<Row>> {
  const { database, seen } = session;
  const results = await database._runExclusiveQuery(async () => {
    try {
      const { name, serializers, columns, parsers } = seen.get(query.text) ?? (await prepare(session, query));
      const values = query.values.map((value, place) => textOf(value, serializers[place]));
      const bound = await send(database, query, serialize.bind({ statement: name, values }));
      const executed = await send(database, query, serialize.execute({}));
      return parseResults([...columns, ...bound, ...executed], parsers, query.options);
    } catch (error) {
      // Its plan may be the reason. The name is not used again.
      seen.delete(query.text);
      throw error;
    } finally {
      await send(database, query, serialize.sync());
    }
  });
  if (!database.isInTransaction()) await database.syncToFs();
  return results[0] as Results<Row>;
}

/** Has the database parse the statement, under a name if it is an insertion seen before: its plan is always the best one. */
async function prepare({ database, seen }: Session, query: Query): Promise<Statement> {
  const { text, options } = query;
  const isInsertion = text.length < maxLength && text.startsWith("insert into ");
  const name = isInsertion && seen.has(text) ? `insertion_${performance.now()}` : "";
  await send(database, query, serialize.parse({ name, text, types: options?.paramTypes ?? [] }));
  const described = await send(database, query, serialize.describe({ type: "S", name }));
  const columns = described.filter((message) => message.name === "rowDescription");
  const types = columns.flatMap((message) => ("fields" in message ? (message as Columns).fields : []));
  const statement = {
    name,
    columns,
    serializers: parameterTypesIn(described).map(
      (type) => options?.serializers?.[type] ?? database.serializers[type],
    ),
    parsers: Object.fromEntries(
      types.flatMap(({ dataTypeID: type }) => {
        const parser = database.parsers[type];
        return parser === undefined ? [] : [[type, parser] as const];
      }),
    ),
  };
  if (name !== "") seen.set(text, statement);
  else if (isInsertion && seen.size < maxSeen) seen.set(text, undefined);
  return statement;
}

async function send(database: Published, { options }: Query, message: Uint8Array): Promise<Messages> {
  return (await database.execProtocol(message, { ...options, syncToFs: false })).messages;
}

function textOf(value: unknown, serializer: Serializer | undefined): string | null {
  if (value === null || value === undefined) return null;
  return serializer === undefined ? String(value) : serializer(value);
}
