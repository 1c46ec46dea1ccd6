/** Loads verification.ts where it is needed. */

/** Address of that script: a constant that tools/build-console.ts defines. */
declare const VERIFICATION_SCRIPT: string

export const loadVerification = (): Promise<typeof import('./verification.ts')> => import(VERIFICATION_SCRIPT)
