import {
  type Abi,
  type AbiEvent,
  type AbiParameterToPrimitiveType,
  encodeAbiParameters,
  encodeEventTopics,
  type Hex,
} from "viem";
import type { EmittedLog } from "./block-builder.ts";

/** The log that a contract at `address` leaves when it emits `eventName` with all its arguments. */
export function emit<const ContractAbi extends Abi, const Name extends EventName<ContractAbi>>(
  address: Hex,
  abi: ContractAbi,
  eventName: Name,
  args: EventArgs<ContractAbi, Name>,
): EmittedLog {
  const event = (abi as Abi).find((item) => item.type === "event" && item.name === eventName) as AbiEvent;
  const values = args as Record<string, unknown>;
  const inData = event.inputs.filter(({ indexed }) => indexed !== true);
  return {
    address: address.toLowerCase() as Hex,
    topics: encodeEventTopics({ abi: [event], eventName: event.name, args: values }) as Hex[],
    data: encodeAbiParameters(
      inData,
      inData.map(({ name }) => values[name as string]),
    ),
  };
}

type Events<ContractAbi extends Abi> = Extract<ContractAbi[number], { type: "event" }>;
type EventName<ContractAbi extends Abi> = Events<ContractAbi>["name"];
type EventArgs<ContractAbi extends Abi, Name> = {
  [Input in Extract<Events<ContractAbi>, { name: Name }>["inputs"][number] as Input["name"] &
    string]: AbiParameterToPrimitiveType<Input>;
};
