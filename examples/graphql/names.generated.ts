/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
export type NewestNamesQueryVariables = Exact<{
  first: number;
  suffix: string;
}>;


export type NewestNamesQuery = { domains: Array<{ name: string | null, createdAt: string, expiryDate: string | null, owner: { id: string }, resolver: { texts: Array<string> | null } | null }> };

