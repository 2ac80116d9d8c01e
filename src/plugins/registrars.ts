import { type IsSource, type On, onSources } from "../contracts/on.ts";
import { tokenIdToHex } from "../ens/nodes.ts";
import type { ManagedName } from "../indexing/registrar.ts";
import {
  recordControllerFacts,
  recordReferral,
  recordRegistration,
  recordRenewal,
} from "../indexing/registrar-actions.ts";
import { type Settings, scopeOf } from "../indexing/scope.ts";

type Deployment = "ensroot" | "basenames" | "lineanames";

/**
 * Registers the indexing functions of the plugin `registrars`: registrations and renewals on every chain.
 * `managed` has the name of each deployment that the configuration has.
 */
export function registerRegistrars(
  settings: Settings,
  { isSource, managed }: { isSource: IsSource; managed: Partial<Record<Deployment, ManagedName>> },
): void {
  const on = onSources(isSource);
  for (const deployment of ["ensroot", "basenames", "lineanames"] as const) {
    const name = managed[deployment];
    if (name) registerBaseRegistrar(on, settings, deployment, name);
  }
  if (managed.ensroot) registerRootControllers(on, settings, managed.ensroot);
  if (managed.basenames) registerBaseControllers(on, settings, managed.basenames);
  if (managed.lineanames) registerLineaController(on, settings, managed.lineanames);
}

function registerBaseRegistrar(
  on: On,
  settings: Settings,
  deployment: Deployment,
  managed: ManagedName,
): void {
  for (const event of [
    `${deployment}/BaseRegistrar:NameRegistered`,
    "basenames/BaseRegistrar:NameRegisteredWithRecord",
  ] as const) {
    if (!event.startsWith(deployment)) continue;
    on(`registrars/${event}`, ({ context, event }) =>
      recordRegistration(scopeOf(settings, context, event), {
        managed,
        labelhash: tokenIdToHex(event.args.id),
        expires: event.args.expires,
      }),
    );
  }
  on(`registrars/${deployment}/BaseRegistrar:NameRenewed`, ({ context, event }) =>
    recordRenewal(scopeOf(settings, context, event), {
      managed,
      labelhash: tokenIdToHex(event.args.id),
      expires: event.args.expires,
    }),
  );
}

// In the events of all controllers but the unwrapped one, the argument `label` is the labelhash.
function registerRootControllers(on: On, settings: Settings, managed: ManagedName): void {
  for (const event of ["NameRegistered", "NameRenewed"] as const) {
    on(`registrars/ensroot/LegacyEthRegistrarController:${event}`, ({ context, event }) =>
      recordControllerFacts(scopeOf(settings, context, event), {
        managed,
        labelhash: event.args.label,
        pricing: { baseCost: event.args.cost, premium: 0n },
      }),
    );
  }
  on("registrars/ensroot/WrappedEthRegistrarController:NameRenewed", ({ context, event }) =>
    recordControllerFacts(scopeOf(settings, context, event), {
      managed,
      labelhash: event.args.label,
      pricing: { baseCost: event.args.cost, premium: 0n },
    }),
  );
  on("registrars/ensroot/WrappedEthRegistrarController:NameRegistered", ({ context, event }) =>
    recordControllerFacts(scopeOf(settings, context, event), {
      managed,
      labelhash: event.args.label,
      pricing: { baseCost: event.args.baseCost, premium: event.args.premium },
    }),
  );
  on("registrars/ensroot/UnwrappedEthRegistrarController:NameRegistered", ({ context, event }) =>
    recordControllerFacts(scopeOf(settings, context, event), {
      managed,
      labelhash: event.args.labelhash,
      pricing: { baseCost: event.args.baseCost, premium: event.args.premium },
      encodedReferrer: event.args.referrer,
    }),
  );
  on("registrars/ensroot/UnwrappedEthRegistrarController:NameRenewed", ({ context, event }) =>
    recordControllerFacts(scopeOf(settings, context, event), {
      managed,
      labelhash: event.args.labelhash,
      pricing: { baseCost: event.args.cost, premium: 0n },
      encodedReferrer: event.args.referrer,
    }),
  );
  on("registrars/ensroot/UniversalRegistrarRenewalWithReferrer:RenewalReferred", ({ context, event }) =>
    recordReferral(scopeOf(settings, context, event), {
      managed,
      labelhash: event.args.labelHash,
      encodedReferrer: event.args.referrer,
    }),
  );
}

// No price: it is in a payment event of the same transaction that names no name.
function registerBaseControllers(on: On, settings: Settings, managed: ManagedName): void {
  for (const event of [
    "EARegistrarController:NameRegistered",
    "RegistrarController:NameRegistered",
    "RegistrarController:NameRenewed",
    "UpgradeableRegistrarController:NameRegistered",
    "UpgradeableRegistrarController:NameRenewed",
  ] as const) {
    on(`registrars/basenames/${event}`, ({ context, event }) =>
      recordControllerFacts(scopeOf(settings, context, event), { managed, labelhash: event.args.label }),
    );
  }
}

function registerLineaController(on: On, settings: Settings, managed: ManagedName): void {
  on("registrars/lineanames/EthRegistrarController:NameRegistered", ({ context, event }) =>
    recordControllerFacts(scopeOf(settings, context, event), {
      managed,
      labelhash: event.args.label,
      pricing: { baseCost: event.args.baseCost, premium: event.args.premium },
    }),
  );
  on("registrars/lineanames/EthRegistrarController:NameRenewed", ({ context, event }) =>
    recordControllerFacts(scopeOf(settings, context, event), {
      managed,
      labelhash: event.args.label,
      pricing: { baseCost: event.args.cost, premium: 0n },
    }),
  );
  for (const event of ["OwnerNameRegistered", "PohNameRegistered"] as const) {
    on(`registrars/lineanames/EthRegistrarController:${event}`, ({ context, event }) =>
      recordControllerFacts(scopeOf(settings, context, event), {
        managed,
        labelhash: event.args.label,
        pricing: { baseCost: 0n, premium: 0n },
      }),
    );
  }
}
