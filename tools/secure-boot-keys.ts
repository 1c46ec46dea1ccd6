/**
 * Makes the keys of Secure Boot for machines of one's own: what the firmware trusts, and what images are signed with.
 * UEFI 2.10, 32.3 (PK and KEK), 32.4 (db). Needs openssl(1), and sbsigntool for sbsiglist(1) and sbvarsign(1).
 */

import { execFileSync } from 'node:child_process'
import { randomUUID, X509Certificate } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'

const USAGE = `node tools/secure-boot-keys.ts <directory>

Makes the directory, with three keys (.key), their certificates (.crt) and what enrols them (.auth):
  PK   the machine's owner: may change everything; keep PK.key offline
  KEK  may change which images are trusted; keep KEK.key offline
  db   images signed with db.key are started; image/build.ts --secure-boot-keys needs it`

/** Each is enrolled by the signature of the one before; the first by its own. */
const KEYS = [
  { name: 'PK', says: 'platform key', signedBy: 'PK' },
  { name: 'KEK', says: 'key exchange key', signedBy: 'PK' },
  { name: 'db', says: 'images', signedBy: 'KEK' },
] as const
const RSA_BITS = 2048 // all that every firmware takes
const DAYS = 36_500 // firmware does not look at it
const ATTRIBUTES = 'NON_VOLATILE,BOOTSERVICE_ACCESS,RUNTIME_ACCESS,TIME_BASED_AUTHENTICATED_WRITE_ACCESS'

if (import.meta.main) {
  const [directory, ...more] = process.argv.slice(2)
  if (directory === undefined || directory.startsWith('-') || more.length > 0) {
    console.error(USAGE)
    process.exitCode = 2
  } else {
    try {
      makeSecureBootKeys(directory)
      console.log(`${directory} is secret, above all the .key files: they decide what your machines start.`)
    } catch (error) {
      console.error((error as Error).message)
      process.exitCode = 1
    }
  }
}

/** Overwrites nothing; the directory appears when it is whole. */
export function makeSecureBootKeys(directory: string): void {
  if (existsSync(directory)) throw new Error(`${directory} exists; keys are never overwritten`)
  const unfinished = `${directory}.new`
  mkdirSync(unfinished, { recursive: true, mode: 0o700 })
  const scratch = mkdtempSync(`${tmpdir()}/coffer-keys-`)
  try {
    const owner = randomUUID()
    for (const { name, says } of KEYS) makeKey(`${unfinished}/${name}`, `Coffer Secure Boot ${says}`)
    for (const { name, signedBy } of KEYS) {
      const certificate = new X509Certificate(readFileSync(`${unfinished}/${name}.crt`))
      writeFileSync(`${scratch}/${name}.der`, certificate.raw)
      run('sbsiglist', [
        '--owner',
        owner,
        '--type',
        'x509',
        '--output',
        `${scratch}/${name}.esl`,
        `${scratch}/${name}.der`,
      ])
      run('sbvarsign', [
        ...['--key', `${unfinished}/${signedBy}.key`, '--cert', `${unfinished}/${signedBy}.crt`],
        ...['--attr', ATTRIBUTES, '--output', `${unfinished}/${name}.auth`, name, `${scratch}/${name}.esl`],
      ])
    }
    renameSync(unfinished, directory)
  } finally {
    for (const path of [scratch, unfinished]) rmSync(path, { recursive: true, force: true })
  }
}

function makeKey(stem: string, name: string): void {
  run('openssl', [
    ...['req', '-x509', '-newkey', `rsa:${RSA_BITS}`, '-noenc', '-sha256', '-days', `${DAYS}`, '-subj', `/CN=${name}`],
    ...['-keyout', `${stem}.key`, '-out', `${stem}.crt`],
  ])
  chmodSync(`${stem}.key`, 0o600)
}

function run(program: string, parameters: string[]): void {
  try {
    execFileSync(program, parameters, { stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8' })
  } catch (error) {
    const { code, stderr } = error as { code?: string; stderr?: string }
    if (code === 'ENOENT') throw new Error(`${program} is missing; it is in the Debian packages openssl and sbsigntool`)
    throw new Error(`${program} failed: ${stderr}`)
  }
}
