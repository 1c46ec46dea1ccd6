/** Kernel images for tests: the real stub of systemd with small sections behind it, their roots, and keys to sign them. */

import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { appendSections } from '../../../image/pe.ts'
import { addHashTree, type VerifiedRoot } from '../../../image/verity.ts'
import { packagesMissing, unlessMissing } from '../../support/tools.ts'

const STUB = '/usr/lib/systemd/boot/efi/linuxx64.efi.stub'

export const onStub = unlessMissing([
  ...packagesMissing(['openssl', 'sbsign']),
  ...(existsSync(STUB) ? [] : ['systemd-boot-efi']),
])

export const SECTIONS = ['.osrel', '.cmdline', '.initrd', '.linux']

/** Has 147 blocks, so that its tree has two levels. */
export const rootImage = (version: string): VerifiedRoot => addHashTree(Buffer.alloc(600_000, `root of ${version} `))

export function kernelImage(version: string, sections = SECTIONS): Buffer {
  const { blocks, rootHash } = rootImage(version)
  const contents: Record<string, Buffer> = {
    '.osrel': Buffer.from(`NAME=Coffer\nID=coffer\nPRETTY_NAME="Coffer ${version}"\nVERSION_ID=${version}\n`),
    '.cmdline': Buffer.from(`console=ttyS0 quiet coffer.root=${blocks}:${rootHash}\0`),
    '.initrd': Buffer.alloc(3000, version),
    '.linux': Buffer.alloc(5000, `kernel of ${version}`),
  }
  return appendSections(
    readFileSync(STUB),
    sections.map((name) => ({ name, bytes: contents[name]! })),
  )
}

export interface Signer {
  /** DER. */
  certificate: Buffer
  sign(program: Uint8Array): Buffer
}

/** Keys of 2048 bits, made now. With `issuer` its certificate is issued by that one. */
export function makeSigner(
  t: TestContext,
  name: string,
  issuer?: Signer & { stem: string },
): Signer & { stem: string } {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-signer-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const stem = join(directory, 'signer')
  const made = ['-keyout', `${stem}.key`, '-out', `${stem}.crt`]
  const by = issuer === undefined ? [] : ['-CA', `${issuer.stem}.crt`, '-CAkey', `${issuer.stem}.key`]
  const how = ['-x509', '-newkey', 'rsa:2048', '-noenc', '-sha256', '-days', '100', '-subj', `/CN=${name}`]
  run('openssl', ['req', ...how, ...by, ...made])
  run('openssl', ['x509', '-in', `${stem}.crt`, '-outform', 'DER', '-out', `${stem}.der`])
  return {
    stem,
    certificate: readFileSync(`${stem}.der`),
    sign: (program) => {
      const [from, to] = [join(directory, 'program'), join(directory, 'signed')]
      writeFileSync(from, program)
      run('sbsign', ['--key', `${stem}.key`, '--cert', `${stem}.crt`, '--output', to, from])
      return readFileSync(to)
    },
  }
}

const run = (program: string, parameters: string[]) => execFileSync(program, parameters, { stdio: 'pipe' })

const X509 = 'a159c0a5e494a74a87b5ab155c2bf072'
const SHA256 = '2616c4c14c509240aca941f936934328'

/** EFI_SIGNATURE_LISTs, one for each. */
export function signatureLists(entries: { certificate?: Buffer; sha256?: Buffer }[]): Buffer {
  return Buffer.concat(
    entries.map(({ certificate, sha256 }) => {
      const data = certificate ?? sha256!
      const head = Buffer.alloc(28 + 16)
      head.write(certificate ? X509 : SHA256, 'hex')
      head.writeUInt32LE(head.length + data.length, 16)
      head.writeUInt32LE(16 + data.length, 24)
      return Buffer.concat([head, data])
    }),
  )
}
