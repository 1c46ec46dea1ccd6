/**
 * The calls under `/cluster/tls` by the names that the clients for NetHSM 5.1 give them. Contract section 3.6: the paths are derived
 * from these names by the rule that holds for all others.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DECLARATIONS } from '../../../firmware/app.ts'

/** Release notes of nethsm-sdk-rs 5.0.0. */
const NAMES = [
  'cluster_tls_ca_pem_get',
  'cluster_tls_ca_pem_put',
  'cluster_tls_cert_pem_get',
  'cluster_tls_cert_pem_put',
  'cluster_tls_csr_pem_post',
  'cluster_tls_generate_post',
  'cluster_tls_public_pem_get',
]
/** Names of the Rust library: `/`, `-` and `.` become `_`; parameters have names of its own. */
const nameOf = ({ method, path }: { method: string; path: string }): string =>
  `${path.slice(1).replaceAll(/[/.-]/g, '_')}_${method.toLowerCase()}`

test('each of the seven names is that of one operation under /cluster/tls, and there are no others', () => {
  const operations = DECLARATIONS.filter(({ path }) => path.startsWith('/cluster/tls/'))
  assert.deepEqual(operations.map(nameOf).sort(), NAMES)
})
