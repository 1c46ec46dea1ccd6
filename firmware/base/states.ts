/** The states of the appliance. Contract section 2. */

export const STATES = ['Unprovisioned', 'Locked', 'Operational', 'Failed'] as const
export type ApplianceState = (typeof STATES)[number]
