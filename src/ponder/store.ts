/**
 * A list of a row, to be read only; empty if there is no row or no list. Reading it as a property makes Ponder copy the
 * whole row deeply, which costs more than the rest of an event.
 */
export function storedList<Row extends object, Key extends keyof Row>(
  row: Row | null,
  key: Key,
): NonNullable<Row[Key]> {
  return (row && Object.getOwnPropertyDescriptor(row, key)?.value) ?? [];
}

/**
 * What an update of the store gives, or undefined where there is no such row. One operation instead of two: to find
 * the row first costs as much as the update.
 */
export async function unlessMissing<Row>(update: PromiseLike<Row>): Promise<Row | undefined> {
  try {
    return await update;
  } catch (error) {
    // Ponder does not export the class of its error.
    if (error instanceof Error && error.name === "RecordNotFoundError") return undefined;
    throw error;
  }
}
