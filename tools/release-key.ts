/** Makes a release key: what update images are signed with, and what appliances verify them with. Ed25519, RFC 8410. */

import { generateKeyPairSync } from 'node:crypto'
import { existsSync, writeFileSync } from 'node:fs'

const USAGE = `node tools/release-key.ts <name>

Writes <name>.key, the private key: it signs software for every appliance that has the public key.
Writes <name>.pub, the public key: installed on an appliance as release.pub in its data directory.`

if (import.meta.main) {
  const [name, ...more] = process.argv.slice(2)
  if (name === undefined || name.startsWith('-') || more.length > 0) {
    console.error(USAGE)
    process.exitCode = 2
  } else {
    try {
      makeReleaseKey(name)
      console.log(`${name}.key is secret; ${name}.pub is for the appliances.`)
    } catch (error) {
      console.error((error as Error).message)
      process.exitCode = 1
    }
  }
}

/** Overwrites nothing. */
export function makeReleaseKey(name: string): void {
  for (const path of [`${name}.key`, `${name}.pub`])
    if (existsSync(path)) throw new Error(`${path} exists; a release key is never overwritten`)
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  writeFileSync(`${name}.key`, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600, flag: 'wx' })
  writeFileSync(`${name}.pub`, publicKey.export({ type: 'spki', format: 'pem' }), { flag: 'wx' })
}
