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
