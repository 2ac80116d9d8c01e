/**
 * A list of a row, to be looked at only; empty where there is no row or no list. To read it as a property makes Ponder
 * copy the whole row deeply, which costs more than all the rest of an event.
 */
export function storedList<Row extends object, Key extends keyof Row>(
  row: Row | null,
  key: Key,
): NonNullable<Row[Key]> {
  return (row && Object.getOwnPropertyDescriptor(row, key)?.value) ?? [];
}
