import {
  type Abi,
  type AbiEvent,
  type AbiParameter,
  type AbiParameterToPrimitiveType,
  encodeAbiParameters,
  type Hex,
  keccak256,
  parseAbi,
  stringToHex,
  toEventSelector,
} from "viem";
import { nameWrapperAbi, registryAbi } from "../abis/names.ts";
import { baseRegistrarAbi, reverseRegistrarAbi, unwrappedControllerAbi } from "../abis/registrars.ts";
import { resolverAbi, resolverRecordsAbi } from "../abis/resolver.ts";

/** A log as a contract emits it. */
export type EmittedLog = { address: Hex; topics: Hex[]; data: Hex };

/**
 * Encodes the logs of one event: emitting address first, then the event's arguments in the order of its declaration.
 * The name must stand for one event of the ABI.
 */
export function createLogEncoder<const Source extends Abi, const Name extends EventName<Source>>(
  abi: Source,
  name: Name,
): (address: Hex, ...values: Values<Source, Name>) => EmittedLog {
  const event = (abi as Abi).find((item) => item.type === "event" && item.name === name) as AbiEvent;
  const { inputs } = event;
  const selector = toEventSelector(event);
  const inData = inputs.filter(({ indexed }) => !indexed);
  return (address, ...values: readonly unknown[]) => {
    const topics = [selector];
    const data: unknown[] = [];
    for (const [index, input] of inputs.entries()) {
      if (input.indexed) topics.push(encodeTopic(input, values[index]));
      else data.push(values[index]);
    }
    return { address, topics, data: encodeAbiParameters(inData, data) };
  };
}

// Solidity: the topic of an indexed string, or of indexed bytes, is their hash.
function encodeTopic(input: AbiParameter, value: unknown): Hex {
  if (input.type === "bytes") return keccak256(value as Hex);
  return input.type === "string"
    ? keccak256(stringToHex(value as string))
    : encodeAbiParameters([input], [value]);
}

type Events<Source extends Abi> = Extract<Source[number], { type: "event" }>;
type EventName<Source extends Abi> = Events<Source>["name"];
type Inputs<Source extends Abi, Name> = Extract<Events<Source>, { name: Name }>["inputs"];
type Values<Source extends Abi, Name> = Primitives<Inputs<Source, Name>>;
type Primitives<List extends readonly AbiParameter[]> = {
  [Place in keyof List]: AbiParameterToPrimitiveType<List[Place]>;
};

const textChangedAbi = parseAbi([
  "event TextChanged(bytes32 indexed node, string indexed indexedKey, string key, string value)",
]);

/** Logs of the events that every ENS deployment shares, by what they record. */
export const emits = {
  newOwner: createLogEncoder(registryAbi, "NewOwner"),
  newResolver: createLogEncoder(registryAbi, "NewResolver"),
  registryTransfer: createLogEncoder(registryAbi, "Transfer"),
  tokenTransfer: createLogEncoder(baseRegistrarAbi, "Transfer"),
  registered: createLogEncoder(baseRegistrarAbi, "NameRegistered"),
  renewed: createLogEncoder(baseRegistrarAbi, "NameRenewed"),
  soldByController: createLogEncoder(unwrappedControllerAbi, "NameRegistered"),
  renewedByController: createLogEncoder(unwrappedControllerAbi, "NameRenewed"),
  wrapped: createLogEncoder(nameWrapperAbi, "NameWrapped"),
  unwrapped: createLogEncoder(nameWrapperAbi, "NameUnwrapped"),
  fusesSet: createLogEncoder(nameWrapperAbi, "FusesSet"),
  expiryExtended: createLogEncoder(nameWrapperAbi, "ExpiryExtended"),
  wrappedTransfer: createLogEncoder(nameWrapperAbi, "TransferSingle"),
  addrChanged: createLogEncoder(resolverAbi, "AddrChanged"),
  addressChanged: createLogEncoder(resolverAbi, "AddressChanged"),
  nameChanged: createLogEncoder(resolverAbi, "NameChanged"),
  textChanged: createLogEncoder(textChangedAbi, "TextChanged"),
  dataChanged: createLogEncoder(resolverRecordsAbi, "DataChanged"),
  contenthashChanged: createLogEncoder(resolverAbi, "ContenthashChanged"),
  nameForAddr: createLogEncoder(reverseRegistrarAbi, "NameForAddrChanged"),
};
