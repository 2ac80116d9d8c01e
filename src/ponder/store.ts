/**
 * A list of a row, to be read only; empty if there is no row or no list. ponder: reading it as a property copies the
 * whole row deeply, which costs more than the rest of an event.
 */
export function storedList<Row extends object, Key extends keyof Row>(
  row: Row | null,
  key: Key,
): NonNullable<Row[Key]> {
  return (row && Object.getOwnPropertyDescriptor(row, key)?.value) ?? [];
}

/**
 * The updated row, or undefined if there is no such row. One operation instead of two: finding
 * the row first would cost as much as the update.
 */
export async function unlessMissing<Row>(update: PromiseLike<Row>): Promise<Row | undefined> {
  try {
    return await update;
  } catch (error) {
    // ponder: the class of the error is not exported.
    if (error instanceof Error && error.name === "RecordNotFoundError") return undefined;
    throw error;
  }
}
