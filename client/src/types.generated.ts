// Generated from the OpenAPI document by generate.ts. Do not edit.

/** One of these words, or one that a later service adds. */
export type Word<T extends string> = T | (string & {});

/** An address, a hash or other bytes, in lower case. */
export type Hex = `0x${string}`;

export type Meta = {
  as_of?: {
    [key: string]: {
      block_number: number;
      block_hash: string | null;
      timestamp: string;
    };
  };
  /** Chains without an indexed block */
  as_of_completeness?: {
    [key: string]: {
      completeness: Word<"full" | "partial" | "unsupported">;
      unsupported_reason: string;
    };
  };
  /** `as_of` as one opaque token */
  as_of_token?: string;
  source?: Word<"indexed" | "verified">;
  completeness?: Word<"full" | "partial" | "unsupported">;
  unsupported_fields?: string[];
  unsupported_reason?: string;
  unlisted_permission_surfaces?: string[];
};

export type PageInfo = {
  cursor: string | null;
  next_cursor: string | null;
  page_size: number;
  total_count: number | null;
  has_more: boolean;
};

export type Contract = {
  chain_id: number;
  address: Hex;
};

export type WrapperFuses = {
  fuses: number;
  cannot_unwrap: boolean;
  cannot_burn_fuses: boolean;
  cannot_transfer: boolean;
  cannot_set_resolver: boolean;
  cannot_set_ttl: boolean;
  cannot_create_subdomain: boolean;
  cannot_approve: boolean;
  parent_cannot_control: boolean;
  is_dot_eth: boolean;
  can_extend_expiry: boolean;
};

export type Restrictions = {
  kind: "ens_v1_wrapper";
  registration_id: string;
  wrapper_state?: Word<"wrapped" | "emancipated" | "locked" | "lapsed" | "unwrapped">;
  wrapper_fuses?: WrapperFuses;
  wrapper_expires_at?: string | null;
  wrapper_expires_at_reason?: Word<"no_expiry" | "not_set">;
} | {
  kind: "ens_v2_registry";
  registration_id: string;
  locked_roles: Word<"unregister" | "renew" | "set_subregistry" | "set_resolver" | "transfer">[];
};

export type GrantScope = {
  kind: "root";
  detail: {
    registry: Contract;
  };
} | {
  kind: "registry" | "registration";
  detail: Record<string, never>;
} | {
  kind: "resolver";
  detail: {
    resolver: Contract;
  };
};

export type Name = {
  name: string;
  display_name: string;
  namespace: string;
  namehash: Hex;
  read_status?: "ok";
  status?: Word<"active" | "expired" | "released" | "unregistered">;
  in_grace?: boolean;
  owner?: Hex;
  manager?: Hex;
  registered_at?: string;
  created_at?: string;
  expires_at?: string | null;
  grace_ends_at?: string | null;
  expires_at_reason?: Word<"no_expiry" | "not_set" | "released">;
  authority?: Word<"ens_v0" | "ens_v1" | "ens_v2">;
  ens_v1?: {
    expires_at: string | null;
    resolver: Contract | null;
    wrapper_state?: Word<"wrapped" | "emancipated" | "locked" | "lapsed" | "unwrapped">;
    wrapper_fuses?: WrapperFuses;
    wrapper_expires_at?: string | null;
    wrapper_expires_at_reason?: Word<"no_expiry" | "not_set">;
  };
  wrapper?: {
    wrapper_state?: Word<"wrapped" | "emancipated" | "locked" | "lapsed" | "unwrapped">;
    wrapper_fuses?: WrapperFuses;
    wrapper_expires_at?: string | null;
    wrapper_expires_at_reason?: Word<"no_expiry" | "not_set">;
  };
  version?: Word<"v1" | "v2">;
  reserved?: boolean;
  migrated_at?: string;
  registry_path?: Hex[];
  subregistry?: Contract;
  lapsed_registration?: {
    owner?: Hex;
    held_through?: Word<"registrar" | "wrapper" | "registry">;
    released_at?: string;
    release_kind?: Word<"expired" | "unregistered">;
  };
  registration_id?: string;
  permission_resource_id?: string;
  token_id?: string;
  resolver?: Contract;
  records?: {
    seen_addresses: string[];
    addresses: {
      [key: string]: string | null;
    };
    seen_texts: string[];
    texts: {
      [key: string]: string | null;
    };
    /** Content types */
    seen_abis?: string[];
    /** Keys of data records (ENSIP-24), whose values are only on chain */
    seen_data?: string[];
    abi_unsupported_reason?: string;
    abis: {
      [key: string]: string;
    };
    seen_singletons: Word<"contenthash" | "name">[];
    contenthash?: string | null;
    name?: string | null;
    decoded?: {
      addresses?: {
        [key: string]: {
          /** The native address (ENSIP-9, ENSIP-11), with checksum where it has one */
          address?: string;
          /** Why the value is not decoded, in one word */
          reason?: string;
        };
      };
      texts?: {
        [key: string]: {
          /** Of an account at a service, without `@` */
          handle?: string;
          /** The page, the image or the contact; of a content hash at a public gateway */
          url?: string;
          /** Of an image (ENSIP-12): `https`, `ipfs`, `data`, `nft` */
          kind?: string;
          /** The text of a data record; a text in the form that its key requires */
          text?: string;
          /** Keywords */
          words?: string[];
          /** Of a theme: background, text, accent, its text, border */
          colors?: string[];
          /** Why the value is not decoded, in one word */
          reason?: string;
        };
      };
      data?: {
        [key: string]: {
          /** The text of a data record; a text in the form that its key requires */
          text?: string;
          /** Why the value is not decoded, in one word */
          reason?: string;
        };
      };
      contenthash?: {
        /** Such as `ipfs` (ENSIP-7) */
        protocol?: string;
        /** With the protocol's scheme */
        uri?: string;
        /** The page, the image or the contact; of a content hash at a public gateway */
        url?: string;
        /** Why the value is not decoded, in one word */
        reason?: string;
      };
    };
  };
  primary_address?: Hex;
  unresolvable_reason?: Word<"no_live_ens_v2_entry" | "ens_v2_path_no_resolver">;
  labelhash?: Hex;
  chain_id?: number;
  network?: string;
  subname_count?: number;
  record_count?: number;
  /** Of a label of a registry */
  role_holder_count?: number;
  is_primary?: boolean;
  is_primary_verified?: boolean;
  relations?: Word<"owner" | "manager" | "role_holder" | "resolves_to" | "former_owner" | "owned_account">[];
  resolution?: {
    coin_type: number;
    record_key: string;
  };
  resolutions?: {
    coin_type: number;
    record_key: string;
  }[];
  role_summary?: {
    address: Hex;
    grants: {
      grant_scope: GrantScope;
      powers: string[];
    }[];
  }[];
  restrictions?: Restrictions;
  expires_window_index?: number;
  grace_ends_window_index?: number;
};

export type LookupResult = {
  input: {
    [key: string]: unknown;
  };
  kind: Word<"name" | "address">;
  status: Word<"ok" | "not_found" | "invalid_name" | "failed">;
  normalization?: {
    changed: boolean;
    input_name: string;
    reason: Word<"case_normalized" | "invalid_normalized_name">;
  };
  failure_reason?: string;
  record?: Name;
  records?: Name[];
  page?: PageInfo;
};

export type Power = Word<"registrar" | "register_reserved" | "set_parent" | "unregister" | "renew" | "set_subregistry" | "set_resolver" | "was_reserved" | "set_uri" | "can_name" | "upgrade" | "admin_registrar" | "admin_register_reserved" | "admin_set_parent" | "admin_unregister" | "admin_renew" | "admin_set_subregistry" | "admin_set_resolver" | "can_transfer_admin" | "admin_set_uri" | "admin_can_name" | "admin_upgrade">;

export type EntryData = {
  action: "registration_granted";
  registrant?: Hex;
  /** Unix seconds; null with a reason */
  expires_at?: string | null;
  expires_at_reason?: Word<"no_expiry" | "not_set" | "released">;
  /** The token in ENSv2 at the event */
  token_id?: string;
  /** Of an entry in ENSv2: its token ids without their last 32 bits */
  canonical_id?: string;
  sender?: Hex;
  action_id?: string;
  action_role?: "registered";
  /** In wei; in ENSv2 in units of `payment_token` */
  cost?: string;
  base_cost?: string;
  premium?: string;
  payment_token?: Contract;
  referrer?: Hex;
} | {
  action: "registration_renewed";
  /** Unix seconds; null with a reason */
  expires_at?: string | null;
  expires_at_reason?: Word<"no_expiry" | "not_set" | "released">;
  /** In wei; in ENSv2 in units of `payment_token` */
  cost?: string;
  base_cost?: string;
  premium?: string;
  payment_token?: Contract;
  referrer?: Hex;
  /** Of an entry in ENSv2: its token ids without their last 32 bits */
  canonical_id?: string;
} | {
  action: "registration_released";
  /** Unix seconds; null with a reason */
  expires_at?: string | null;
  expires_at_reason?: Word<"no_expiry" | "not_set" | "released">;
  /** Of an entry in ENSv2: its token ids without their last 32 bits */
  canonical_id?: string;
} | {
  action: "expiry_changed";
  /** Unix seconds; null with a reason */
  expires_at?: string | null;
  expires_at_reason?: Word<"no_expiry" | "not_set" | "released">;
  /** 32 bits, unsigned */
  fuses?: number;
} | {
  action: "token_transferred";
  from?: Hex;
  to?: Hex;
  operator?: Hex;
  /** The token in ENSv2 at the event */
  token_id?: string;
  /** Of an entry in ENSv2: its token ids without their last 32 bits */
  canonical_id?: string;
} | {
  action: "authority_changed" | "name_wrapped" | "name_unwrapped";
  owner?: Hex;
  node?: Hex;
  /** 32 bits, unsigned */
  fuses?: number;
  /** Unix seconds; null with a reason */
  expires_at?: string | null;
  expires_at_reason?: Word<"no_expiry" | "not_set" | "released">;
} | {
  action: "resolver_changed";
  /** Absent if cleared */
  resolver?: Contract;
  /** Of an entry in ENSv2: its token ids without their last 32 bits */
  canonical_id?: string;
  sender?: Hex;
} | {
  action: "record_changed" | "record_version_changed";
  /** `addr:60`, `text:url`, `contenthash`, `name` or `abi:1` */
  key?: string;
  /** A text, or bytes in hex */
  value?: string;
  coin_type?: number;
  record_version?: string;
  /** Absent if cleared */
  resolver?: Contract;
  node?: Hex;
} | {
  action: "primary_name_recorded";
  address?: Hex;
  coin_type?: number;
  name?: string;
  name_status?: Word<"set" | "cleared">;
} | {
  action: "permission_changed";
  address?: Hex;
  /** `registry`: of an entry; `root`: of a whole registry, which `detail` names */
  grant_scope?: GrantScope;
  /** All powers of the account after the event */
  powers?: Power[];
  added_powers?: Power[];
  removed_powers?: Power[];
  old_role_bitmap?: string;
  new_role_bitmap?: string;
  /** 32 bits, unsigned */
  fuses?: number;
  /** The token in ENSv2 at the event */
  token_id?: string;
  /** Of an entry in ENSv2: its token ids without their last 32 bits */
  canonical_id?: string;
} | {
  action: "subregistry_changed";
  /** Absent if cleared */
  subregistry?: Contract;
  /** Of an entry in ENSv2: its token ids without their last 32 bits */
  canonical_id?: string;
  sender?: Hex;
} | {
  action: "migration_applied";
  registrant?: Hex;
  /** Unix seconds; null with a reason */
  expires_at?: string | null;
  expires_at_reason?: Word<"no_expiry" | "not_set" | "released">;
  /** The token in ENSv2 at the event */
  token_id?: string;
  /** Of an entry in ENSv2: its token ids without their last 32 bits */
  canonical_id?: string;
  sender?: Hex;
  action_id?: string;
  action_role?: "registered";
  migration_path?: Word<"unwrapped" | "unlocked_wrapped" | "locked_wrapped" | "locked_child" | "emancipated_child">;
} | {
  action: "registration_reserved";
  /** Unix seconds; null with a reason */
  expires_at?: string | null;
  expires_at_reason?: Word<"no_expiry" | "not_set" | "released">;
  /** The token in ENSv2 at the event */
  token_id?: string;
  /** Of an entry in ENSv2: its token ids without their last 32 bits */
  canonical_id?: string;
  node?: Hex;
};

export type HistoryEntry = {
  id: string;
  type: Word<"registration" | "renewal" | "release" | "expiry" | "transfer" | "authority" | "resolver" | "record" | "primary_name" | "permission" | "subregistry" | "migration" | "reservation">;
  name?: string;
  namehash?: Hex;
  namespace: string;
  chain_id: number;
  registration_id: string | null;
  block_number: number | null;
  timestamp: string | null;
  transaction_hash: string | null;
  log_index: number | null;
  kind?: Word<"WrappedTransfer" | "Transfer" | "NewOwner" | "NameWrapped" | "NameUnwrapped" | "NewResolver" | "FusesSet" | "ExpiryExtended" | "NameRegistered" | "NameRenewed" | "NameTransferred" | "AuthorisationChanged" | "AddrChanged" | "MulticoinAddrChanged" | "NameChanged" | "ReverseNameChanged" | "AbiChanged" | "PubkeyChanged" | "TextChanged" | "ContenthashChanged" | "InterfaceChanged" | "VersionChanged" | "LabelRegistered" | "Migration" | "LabelReserved" | "LabelUnregistered" | "ExpiryUpdated" | "TransferSingle" | "TransferBatch" | "ResolverUpdated" | "SubregistryUpdated" | "EACRolesChanged" | "RootPermissionChanged" | "NameForAddrChanged" | "Release">;
  contract_address?: Hex | null;
  data?: EntryData;
  subject?: Word<"name" | "child">;
  /** With `after`: docs/events.md */
  keys?: string[];
};

export type Reverted = {
  chain_id: number;
  last_valid_block: number;
  /** `id` of entries, the newest first */
  ids: string[];
  /** The cache keys of their messages */
  keys: string[];
};

export type Healed = {
  names: {
    namehash: Hex;
    name?: string;
  }[];
  /** Their cache keys */
  keys: string[];
};

export type NameRecords = {
  namespace: string;
  resolver: Contract | null;
  records: {
    [key: string]: {
      status: Word<"ok" | "not_found" | "unsupported" | "failed">;
      value?: string;
      decoded?: {
        /** The native address (ENSIP-9, ENSIP-11), with checksum where it has one */
        address?: string;
        /** Why the value is not decoded, in one word */
        reason?: string;
        /** Such as `ipfs` (ENSIP-7) */
        protocol?: string;
        /** With the protocol's scheme */
        uri?: string;
        /** The page, the image or the contact; of a content hash at a public gateway */
        url?: string;
        /** Of an account at a service, without `@` */
        handle?: string;
        /** Of an image (ENSIP-12): `https`, `ipfs`, `data`, `nft` */
        kind?: string;
        /** The text of a data record; a text in the form that its key requires */
        text?: string;
        /** Keywords */
        words?: string[];
        /** Of a theme: background, text, accent, its text, border */
        colors?: string[];
      };
      meta?: {
        basis: "derived";
        rule: "ensip19_default_address";
        source_record_key: string;
      };
      unsupported_reason?: string;
      failure_reason?: string;
    };
  };
  inventory?: {
    known_keys: string[];
    unset_keys: string[];
    unsupported_keys: string[];
    abi_content_types: string[] | null;
    abi_unsupported_reason?: string;
  };
};

export type PrimaryName = {
  address: Hex;
  coin_type: number;
  namespace: string;
  answers: {
    status: Word<"ok" | "not_found" | "invalid_name" | "mismatch" | "unsupported" | "failed">;
    name?: string;
    unsupported_reason?: string;
    failure_reason?: string;
    /** The step that fails: `no_reverse_record`, `not_normalized`, `no_forward_record`, `other_address` or `resolver_unreachable` */
    reason?: string;
    source: Word<"indexed" | "verified">;
    raw_claim_name?: string;
  }[];
  verification?: {
    status: Word<"ok" | "not_found" | "invalid_name" | "mismatch" | "unsupported" | "failed">;
    name?: string;
    unsupported_reason?: string;
    failure_reason?: string;
    /** The step that fails: `no_reverse_record`, `not_normalized`, `no_forward_record`, `other_address` or `resolver_unreachable` */
    reason?: string;
  };
};

export type PrimaryNames = {
  names: {
    [key: string]: string | null;
  };
  errors?: {
    [key: string]: string;
  };
  /** The parameter `accelerate` */
  accelerationRequested: boolean;
  /** Whether the index was fresh enough to be used */
  accelerationAttempted: boolean;
  trace?: ({
    name: string;
  } & {
    [key: string]: unknown;
  })[];
};

export type Permission = {
  address: Hex;
  grant_scope: GrantScope;
  powers: string[];
  registration_id: string;
  /** The resource of a resolver's roles in decimal digits */
  eac_resource?: string;
  /** The one record that the powers are limited to */
  record_resource?: {
    kind: Word<"address" | "text" | "data" | "abi" | "interface" | "argument">;
    hash: Hex;
    coin_type?: number;
    coin_type_decimal?: string;
    key?: string;
    key_bytes?: string;
    content_type?: number;
    content_type_decimal?: string;
    interface_id?: string;
    selectors?: {
      kind: Word<"address" | "text" | "data" | "abi" | "interface">;
      hash: Hex;
      coin_type?: number;
      coin_type_decimal?: string;
      key?: string;
      key_bytes?: string;
      content_type?: number;
      content_type_decimal?: string;
      interface_id?: string;
    }[];
  };
  name?: string;
  authority_context: Word<"current_for_name" | "resource_audit">;
  wrapper_state?: Word<"wrapped" | "emancipated" | "locked" | "lapsed" | "unwrapped">;
  wrapper_fuses?: WrapperFuses;
  lineage?: {
    grant: {
      kind: Word<"event" | "registration_authority" | "ens_v1_authority">;
      relation?: "holder";
    };
  };
};

export type ChainAccount = {
  chainId: number;
  address: Hex;
};

export type Price = {
  /** ETH, except in ENSv2, where names are paid for in tokens; `ERC20` is a token without a known symbol */
  currency: Word<"ETH" | "WETH" | "USDC" | "DAI" | "ERC20">;
  /** Wei, or the smallest unit of the token */
  amount: string;
  token?: ChainAccount;
};

export type RegistrarAction = {
  action: {
    id: string;
    type: Word<"registration" | "renewal">;
    /** Generation of ENS in which it was sold, where ENSv2 is indexed */
    version?: Word<"v1" | "v2">;
    /** Seconds */
    incrementalDuration: number;
    registrant: Hex;
    registrationLifecycle: {
      subregistry: {
        subregistryId: ChainAccount;
        node: Hex;
      };
      node: Hex;
      /** Unix seconds */
      expiresAt: number;
      /** Generation in force; absent if neither is, or if ENSv2 is not indexed */
      version?: Word<"v1" | "v2">;
      /** Whether ENSv2 holds the name for its owner in ENSv1 */
      reserved?: boolean;
    };
    pricing: {
      /** All three are null if no controller reported prices */
      baseCost: Price | null;
      /** All three are null if no controller reported prices */
      premium: Price | null;
      /** All three are null if no controller reported prices */
      total: Price | null;
    };
    referral: {
      encodedReferrer: Hex | null;
      /** The zero address if the encoded value is not an address */
      decodedReferrer: Hex | null;
    };
    block: {
      /** Unix seconds */
      timestamp: number;
      number: number;
    };
    transactionHash: Hex;
    eventIds: string[];
  };
  name: string;
};

export type NameTokens = {
  domainId: Hex;
  name: string;
  tokens: {
    token: {
      assetNamespace: Word<"erc721" | "erc1155">;
      contract: ChainAccount;
      tokenId: Hex;
    };
    ownership: {
      ownershipType: Word<"namewrapper" | "fully-onchain" | "burned" | "unknown">;
      owner: ChainAccount;
    };
    mintStatus: Word<"minted" | "burned">;
  }[];
  /** Unix seconds */
  expiresAt: number;
  /** Generation of ENS in force; absent if neither is, or if ENSv2 is not indexed */
  version?: Word<"v1" | "v2">;
  /** Whether ENSv2 holds the name for its owner in ENSv1 */
  reserved?: boolean;
  /** Where ENSv2 is indexed */
  isExpired?: boolean;
  /** Unix seconds */
  accurateAsOf: number;
};

export type RecordsQuery = {
  /** `ens`, `basenames`, `lineanames` or `threedns` */
  namespace?: string | undefined;
  /** Such as `addr:60,text:url,data:<key>,avatar,contenthash,name` */
  keys?: string | undefined;
  /** `inventory`: the keys that were ever set, and the content types of ABIs */
  include?: string | undefined;
  /** Reads the index as of a moment: Unix seconds, RFC 3339, `<chain id>:<block>` or `meta.as_of_token` */
  at?: string | number | undefined;
  /** `safe` and `finalized` are refused unless the last indexed block is final */
  finality?: "latest" | "safe" | "finalized" | undefined;
  source?: "indexed" | "verified" | "auto" | undefined;
};

export type SubnamesQuery = {
  /** `ens`, `basenames`, `lineanames` or `threedns` */
  namespace?: string | undefined;
  /** Text that the name contains */
  q?: string | undefined;
  match?: "prefix" | "contains" | undefined;
  sort?: "name" | "expires_at" | "registered_at" | undefined;
  order?: "asc" | "desc" | undefined;
  include_expired?: boolean | undefined;
  /** `counts`: of their own subnames */
  include?: string | undefined;
  /** Reads the index as of a moment: Unix seconds, RFC 3339, `<chain id>:<block>` or `meta.as_of_token` */
  at?: string | number | undefined;
  /** Rows of a page: 1 to 200, default 50 */
  page_size?: string | number | undefined;
};

export type HistoryQuery = {
  /** Only entries of these types: `registration`, `renewal`, `release`, `expiry`, `transfer`, `authority`, `resolver`, `record`, `primary_name`, `permission`, `subregistry`, `migration`, `reservation`, `token`, `contract`, `healed` */
  type?: string | undefined;
  /** No entries of these types */
  exclude_type?: string | undefined;
  /** Names of events, or of groups as in ENS's own API */
  kind?: string | undefined;
  /** Writes of one record: `addr:60`, `text:url`, `contenthash`, `name` or `abi:1` */
  record_key?: string | undefined;
  order?: "desc" | "asc" | undefined;
  /** Unix seconds or RFC 3339, inclusive */
  from_timestamp?: string | number | undefined;
  /** Unix seconds or RFC 3339, inclusive */
  to_timestamp?: string | number | undefined;
  /** `data`: what each entry changed; `raw`: its event; `total_count`; `child_registrations`: also registrations of direct subnames in ENSv2, distinguished by `subject`; not for `eth` and other names below which a registrar registers names */
  include?: string | undefined;
  /** Reads the index as of a moment: Unix seconds, RFC 3339, `<chain id>:<block>` or `meta.as_of_token` */
  at?: string | number | undefined;
  /** Rows of a page: 1 to 200, default 50 */
  page_size?: string | number | undefined;
  /** `ens`, `basenames`, `lineanames` or `threedns` */
  namespace?: string | undefined;
  /** Entries of the name, of its registrations, or both */
  scope?: "both" | "name" | "registration" | undefined;
};

export type PortfolioQuery = {
  /** `ens`, `basenames`, `lineanames` or `threedns` */
  namespace?: string | undefined;
  /** Any of `owner`, `manager` and `role_holder`, `any` for all three, or `resolves_to`, `former_owner` or `owned_account` alone; default `any` */
  relation?: string | undefined;
  /** With `relation=resolves_to`: coin type of the record, or `evm` for any EVM chain; default 60 */
  coin_type?: string | number | undefined;
  /** Text that the name contains */
  q?: string | undefined;
  match?: "prefix" | "contains" | undefined;
  /** Only its direct subnames */
  parent?: string | undefined;
  /** Omits names that have ended */
  status?: "active" | undefined;
  authority?: string | undefined;
  /** Whether the name was migrated from ENSv1 to ENSv2 */
  is_migrated?: boolean | undefined;
  /** Unix seconds or RFC 3339, inclusive; with `relation=former_owner` */
  expires_after?: string | number | undefined;
  /** Unix seconds or RFC 3339, exclusive; with `relation=former_owner` */
  expires_before?: string | number | undefined;
  /** Default `name`; with `relation=former_owner` only `expires_at` */
  sort?: "name" | "expires_at" | "registered_at" | "created_at" | undefined;
  order?: "asc" | "desc" | undefined;
  /** One row per name, which has one registration */
  dedupe?: "name" | "registration" | undefined;
  /** `counts`: of subnames and records; `total_count`: exact up to 100000, null with `resolves_to` and `owned_account`; `role_summary`: who has which powers over each name */
  include?: string | undefined;
  /** Reads the index as of a moment: Unix seconds, RFC 3339, `<chain id>:<block>` or `meta.as_of_token` */
  at?: string | number | undefined;
  /** Rows of a page: 1 to 200, default 50 */
  page_size?: string | number | undefined;
};

export type AddressHistoryQuery = {
  /** Only entries of these types: `registration`, `renewal`, `release`, `expiry`, `transfer`, `authority`, `resolver`, `record`, `primary_name`, `permission`, `subregistry`, `migration`, `reservation`, `token`, `contract`, `healed` */
  type?: string | undefined;
  /** No entries of these types */
  exclude_type?: string | undefined;
  /** Names of events, or of groups as in ENS's own API */
  kind?: string | undefined;
  /** Writes of one record: `addr:60`, `text:url`, `contenthash`, `name` or `abi:1` */
  record_key?: string | undefined;
  order?: "desc" | "asc" | undefined;
  /** Unix seconds or RFC 3339, inclusive */
  from_timestamp?: string | number | undefined;
  /** Unix seconds or RFC 3339, inclusive */
  to_timestamp?: string | number | undefined;
  /** `data`: what each entry changed; `raw`: its event; `total_count` */
  include?: string | undefined;
  /** Reads the index as of a moment: Unix seconds, RFC 3339, `<chain id>:<block>` or `meta.as_of_token` */
  at?: string | number | undefined;
  /** Rows of a page: 1 to 200, default 50 */
  page_size?: string | number | undefined;
  /** `ens`, `basenames`, `lineanames` or `threedns` */
  namespace?: string | undefined;
  /** Entries of the name, of its registrations, or both */
  scope?: "both" | "name" | "registration" | undefined;
  /** All entries of the names with this relation, of the newest 1000; by default what it received itself. `role_holder` adds its roles on whole registries */
  relation?: string | undefined;
};

export type PrimaryNameQuery = {
  coin_type?: string | number | undefined;
  /** `ens`, `basenames`, `lineanames` or `threedns` */
  namespace?: string | undefined;
  source?: "indexed" | "verified" | undefined;
  /** Reads the index as of a moment: Unix seconds, RFC 3339, `<chain id>:<block>` or `meta.as_of_token` */
  at?: string | number | undefined;
};

export type PrimaryNamesQuery = {
  /** Whether to respond from the index where possible (default `false`) */
  accelerate?: boolean | undefined;
  /** Whether to list the steps of the resolution (default `false`) */
  trace?: boolean | undefined;
  /** Comma-separated chain ids; default: the chains of this instance's namespace */
  chainIds?: string | undefined;
};

export type EventsQuery = {
  /** Only entries of these types: `registration`, `renewal`, `release`, `expiry`, `transfer`, `authority`, `resolver`, `record`, `primary_name`, `permission`, `subregistry`, `migration`, `reservation`, `token`, `contract`, `healed` */
  type?: string | undefined;
  /** No entries of these types */
  exclude_type?: string | undefined;
  /** Names of events, or of groups as in ENS's own API */
  kind?: string | undefined;
  /** Writes of one record: `addr:60`, `text:url`, `contenthash`, `name` or `abi:1` */
  record_key?: string | undefined;
  order?: "desc" | "asc" | undefined;
  /** Unix seconds or RFC 3339, inclusive */
  from_timestamp?: string | number | undefined;
  /** Unix seconds or RFC 3339, inclusive */
  to_timestamp?: string | number | undefined;
  /** `data`: what each entry changed; `raw`: its event; `total_count` */
  include?: string | undefined;
  /** Reads the index as of a moment: Unix seconds, RFC 3339, `<chain id>:<block>` or `meta.as_of_token` */
  at?: string | number | undefined;
  /** `finalized`: events that no reorganization can revert; `safe` means the same */
  finality?: "latest" | "safe" | "finalized" | undefined;
  /** Rows of a page: 1 to 200, default 50 */
  page_size?: string | number | undefined;
  /** `ens`, `basenames`, `lineanames` or `threedns` */
  namespace?: string | undefined;
  /** Events of this chain */
  chain_id?: string | undefined;
  name?: string | undefined;
  /** Direct subnames of this name */
  parent?: string | undefined;
  /** Account that received something, or whose primary name or roles changed */
  address?: string | undefined;
  /** `<chain id>:<address>`: its records */
  resolver?: string | number | undefined;
  /** The emitting contract: a resolver, registrar, reverse registrar, name wrapper or registry */
  contract_address?: string | undefined;
  /** The id of a message of the stream: continues after it */
  after?: string | undefined;
  /** From a row of a name */
  registration_id?: string | number | undefined;
  /** Number of a block of one chain, inclusive */
  from_block?: string | number | undefined;
  /** Number of a block of one chain, inclusive */
  to_block?: string | number | undefined;
};

export type StreamQuery = {
  /** Only entries of these types: `registration`, `renewal`, `release`, `expiry`, `transfer`, `authority`, `resolver`, `record`, `primary_name`, `permission`, `subregistry`, `migration`, `reservation`, `token`, `contract`, `healed` */
  type?: string | undefined;
  /** No entries of these types */
  exclude_type?: string | undefined;
  /** Names of events, or of groups as in ENS's own API */
  kind?: string | undefined;
  /** Writes of one record: `addr:60`, `text:url`, `contenthash`, `name` or `abi:1` */
  record_key?: string | undefined;
  /** `ens`, `basenames`, `lineanames` or `threedns` */
  namespace?: string | undefined;
  /** Events of this chain */
  chain_id?: string | undefined;
  name?: string | undefined;
  /** Direct subnames of this name */
  parent?: string | undefined;
  /** Account that received something, or whose primary name or roles changed */
  address?: string | undefined;
  /** `<chain id>:<address>`: its records */
  resolver?: string | number | undefined;
  /** The emitting contract: a resolver, registrar, reverse registrar, name wrapper or registry */
  contract_address?: string | undefined;
  /** The id of a message of the stream: continues after it */
  after?: string | undefined;
  /** `finalized`: events that no reorganization can revert; `safe` means the same */
  finality?: "latest" | "safe" | "finalized" | undefined;
  /** Where a client without an id starts: `latest`, `start` or `<chain id>:<block>`, inclusive */
  from?: string | number | undefined;
};

export type PermissionsQuery = {
  name?: string | undefined;
  /** From a row of a name or of this list */
  registration_id?: string | number | undefined;
  /** Who has the powers */
  address?: string | undefined;
  /** `<chain id>:<address>` of a registry of ENSv2: powers over the whole registry */
  registry?: string | number | undefined;
  /** `ens`, `basenames`, `lineanames` or `threedns` */
  namespace?: string | undefined;
  /** `lineage`: the kind of fact that grants the powers */
  include?: string | undefined;
  /** Reads the index as of a moment: Unix seconds, RFC 3339, `<chain id>:<block>` or `meta.as_of_token` */
  at?: string | number | undefined;
  /** Rows of a page: 1 to 200, default 50 */
  page_size?: string | number | undefined;
};

export type ExpiriesQuery = {
  /** The fewest characters that the label has */
  min_length?: string | number | undefined;
  /** The most characters that the label has */
  max_length?: string | number | undefined;
  /** All that the label consists of: 0 to 9, a to z, or both */
  characters?: "digits" | "letters" | "alphanumeric" | undefined;
  /** Only names that have the text record `avatar`, without those under record ids of ENSv2 */
  has_avatar?: boolean | undefined;
  /** `ens`, `basenames`, `lineanames` or `threedns` */
  namespace: string;
  /** Unix seconds or RFC 3339, inclusive */
  expires_after?: string | number | undefined;
  /** Unix seconds or RFC 3339, exclusive */
  expires_before?: string | number | undefined;
  /** `<from>..<to>`, the end exclusive; up to 32 times */
  expires_window?: string | string[] | undefined;
  /** Unix seconds or RFC 3339, inclusive */
  grace_ends_after?: string | number | undefined;
  /** Unix seconds or RFC 3339, exclusive */
  grace_ends_before?: string | number | undefined;
  /** `<from>..<to>`, the end exclusive; up to 32 times */
  grace_ends_window?: string | string[] | undefined;
  authority?: string | undefined;
  /** Instead of a window: names with a text record of an agent (ENSIP-25, ENSIP-26) whose key has this prefix, by name */
  record_key_prefix?: string | undefined;
  /** Instead of a window: names whose text record `class` is this word (ENSIP-27), by name */
  class?: string | undefined;
  /** Only its direct subnames */
  parent?: string | undefined;
  /** The deadline of the window; `name` with `record_key_prefix` and `class` */
  sort?: "expires_at" | "grace_ends_at" | "name" | undefined;
  order?: "asc" | "desc" | undefined;
  /** Reads the index as of a moment: Unix seconds, RFC 3339, `<chain id>:<block>` or `meta.as_of_token` */
  at?: string | number | undefined;
  /** Rows of a page: 1 to 200, default 50 */
  page_size?: string | number | undefined;
};

export type SearchQuery = {
  q: string;
  /** Default `prefix` */
  match?: "prefix" | "contains" | undefined;
  /** `ens`, `basenames`, `lineanames` or `threedns` */
  namespace?: string | undefined;
  /** Omits names that have ended */
  status?: "active" | undefined;
  sort?: "name" | "relevance" | undefined;
  /** Reads the index as of a moment: Unix seconds, RFC 3339, `<chain id>:<block>` or `meta.as_of_token` */
  at?: string | number | undefined;
  /** Rows of a page: 1 to 200, default 50 */
  page_size?: string | number | undefined;
};

export type RegistrarActionsQuery = {
  /** 1 to 100 (default 10) */
  recordsPerPage?: string | undefined;
  /** Alias of `recordsPerPage` */
  limit?: string | undefined;
  /** Reads the index as of a moment: Unix seconds, RFC 3339, `<chain id>:<block>` or `meta.as_of_token` */
  at?: string | number | undefined;
  /** Newest first, the only order */
  orderBy?: string | undefined;
  /** `true`: only actions with a referrer */
  withReferral?: boolean | undefined;
  /** Address */
  decodedReferrer?: string | undefined;
  /** The same */
  referrer?: string | undefined;
  /** Unix seconds, inclusive */
  beginTimestamp?: string | number | undefined;
  /** Unix seconds, inclusive */
  endTimestamp?: string | number | undefined;
  /** Only actions of this type */
  type?: "registration" | "renewal" | undefined;
  /** Sender of the transaction */
  registrant?: string | undefined;
  /** Node (namehash) of the name */
  node?: string | undefined;
  /** The name, with unknown labels as `[labelhash]` */
  name?: string | undefined;
  /** Chain of the registrar */
  chainId?: string | undefined;
};

export type NameTokensQuery = {
  /** Node (namehash) of the name */
  domainId?: string | undefined;
  /** The normalized name */
  name?: string | undefined;
  /** Reads the index as of a moment: Unix seconds, RFC 3339, `<chain id>:<block>` or `meta.as_of_token` */
  at?: string | number | undefined;
};
