/** The SQL type of a sort value. */
export type SortType = "text" | "numeric" | "int";
