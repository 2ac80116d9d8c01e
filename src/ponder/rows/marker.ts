/** Key of `globalThis` under which the row store says that it was loaded. */
export const storeMarker = Symbol.for("nsindex.row-store");
