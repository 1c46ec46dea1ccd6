/** Verification of signatures and of audit logs: a script of its own, which few visits need. */

export { verifyExport } from '../client/audit-verify.ts'
export { verifyEcdsa, verifyPkcs1, verifyPss } from '../client/verify-digest.ts'
