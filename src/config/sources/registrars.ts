import { baseRegistrarAbi } from "../../../abis/base-registrar.ts";
import {
  basenamesBaseRegistrarAbi,
  basenamesControllerAbi,
  earlyAccessControllerAbi,
} from "../../../abis/basenames.ts";
import { lineanamesControllerAbi } from "../../../abis/lineanames.ts";
import { referralRenewalsAbi } from "../../../abis/referral-renewals.ts";
import {
  legacyControllerAbi,
  unwrappedControllerAbi,
  wrappedControllerAbi,
} from "../../../abis/registrar-controllers.ts";
import { entryOf } from "../contract-entry.ts";
import type { Config } from "../environment.ts";

/** Contract entries of the plugin `registrars`: base registrars and controllers of every deployment that there is. */
export function registrarsSources(config: Config) {
  const root = entryOf(config, "ensroot");
  const base = entryOf(config, "basenames");
  const linea = entryOf(config, "lineanames");
  return {
    "registrars/ensroot/BaseRegistrar": root("BaseRegistrar", baseRegistrarAbi),
    "registrars/ensroot/LegacyEthRegistrarController": root(
      "LegacyEthRegistrarController",
      legacyControllerAbi,
    ),
    "registrars/ensroot/WrappedEthRegistrarController": root(
      "WrappedEthRegistrarController",
      wrappedControllerAbi,
    ),
    "registrars/ensroot/UnwrappedEthRegistrarController": root(
      "UnwrappedEthRegistrarController",
      unwrappedControllerAbi,
    ),
    "registrars/ensroot/UniversalRegistrarRenewalWithReferrer": root(
      "UniversalRegistrarRenewalWithReferrer",
      referralRenewalsAbi,
    ),
    "registrars/basenames/BaseRegistrar": base("BaseRegistrar", basenamesBaseRegistrarAbi),
    "registrars/basenames/EARegistrarController": base("EARegistrarController", earlyAccessControllerAbi),
    "registrars/basenames/RegistrarController": base("RegistrarController", basenamesControllerAbi),
    "registrars/basenames/UpgradeableRegistrarController": base(
      "UpgradeableRegistrarController",
      basenamesControllerAbi,
    ),
    "registrars/lineanames/BaseRegistrar": linea("BaseRegistrar", baseRegistrarAbi),
    "registrars/lineanames/EthRegistrarController": linea("EthRegistrarController", lineanamesControllerAbi),
  };
}
