/** The authority of a test's cluster, by OpenSSL: certificates for members at given addresses. */

import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Ending } from './process.ts'

export interface ClusterCa {
  /** PEM. */
  readonly certificate: string
  issue(...addresses: string[]): { certificate: string; key: Uint8Array }
  sign(request: string, ...addresses: string[]): string
}

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']

export function createClusterCa(t: Ending): ClusterCa {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-ca-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const openssl = (...parameters: string[]): void => {
    const { status, stderr } = spawnSync('openssl', parameters, { cwd: directory, encoding: 'utf8' })
    if (status !== 0) throw new Error(`openssl ${parameters.join(' ')}: ${stderr}`)
  }
  const text = (name: string): string => readFileSync(join(directory, name), 'utf8')
  openssl('req', '-x509', ...KEY, '-days', '2', '-subj', '/CN=Cluster', '-keyout', 'ca.key', '-out', 'ca.pem')

  const sign = (request: string, ...addresses: string[]): string => {
    writeFileSync(join(directory, 'request.pem'), request)
    const names = addresses.map((address) => `IP:${address}`).join(',')
    writeFileSync(
      join(directory, 'extensions'),
      `subjectAltName=${names}\nkeyUsage=digitalSignature\nextendedKeyUsage=serverAuth,clientAuth\n`,
    )
    const authority = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2']
    openssl('x509', '-req', '-in', 'request.pem', ...authority, '-extfile', 'extensions', '-out', 'issued.pem')
    return text('issued.pem')
  }
  return {
    certificate: text('ca.pem'),
    sign,
    issue(...addresses) {
      openssl('req', '-new', ...KEY, '-subj', '/CN=member', '-keyout', 'member.key', '-out', 'new.pem')
      return { certificate: sign(text('new.pem'), ...addresses), key: readFileSync(join(directory, 'member.key')) }
    },
  }
}
