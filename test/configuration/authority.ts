/** Certificates made by the openssl program, as an authority would make them. */

import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Issued {
  /** PEM of one certificate, as openssl writes it. */
  pem: string
  keyPath: string
  certPath: string
}

export interface Request {
  name: string
  /** Lines of an openssl extension section. */
  extensions?: readonly string[]
  /** PEM of a certificate request; without one a key is made. */
  csr?: string
  issuer?: Issued
  /** As openssl's `-not_before` and `-not_after` take them. */
  validity?: { notBefore: string; notAfter: string }
  /** Makes the key that no request brings; default P-256. */
  keyOptions?: readonly string[]
}

const CA = ['basicConstraints=critical,CA:TRUE', 'keyUsage=critical,keyCertSign,cRLSign']
const P256 = ['-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256']

export class Workshop {
  readonly directory = mkdtempSync(join(tmpdir(), 'coffer-authority-'))
  #count = 0

  openssl(args: readonly string[]): string {
    const result = spawnSync('openssl', args, { cwd: this.directory, input: '' })
    if (result.status !== 0) throw new Error(`openssl ${args.join(' ')}: ${result.stderr}`)
    return result.stdout.toString()
  }

  file(name: string, content: string | Uint8Array): string {
    const path = join(this.directory, name)
    writeFileSync(path, content)
    return path
  }

  issue({ name, extensions = [], csr, issuer, validity, keyOptions = P256 }: Request): Issued {
    const id = `${++this.#count}`
    const keyPath = join(this.directory, `${id}.key`)
    const certPath = join(this.directory, `${id}.pem`)
    const requestPath = csr === undefined ? join(this.directory, `${id}.csr`) : this.file(`${id}.csr`, csr)
    if (csr === undefined) {
      this.openssl(['genpkey', ...keyOptions, '-out', keyPath])
      this.openssl(['req', '-new', '-key', keyPath, '-subj', `/CN=${name}`, '-out', requestPath])
    }
    const extensionPath = this.file(`${id}.ext`, `${extensions.join('\n')}\n`)
    // `x509 -req` of this age takes no dates; `ca` does, and wants a database.
    const signer = issuer === undefined ? { cert: [], key: keyPath } : { cert: [issuer.certPath], key: issuer.keyPath }
    const database = this.file(`${id}.index`, '')
    const serial = this.file(`${id}.serial`, `${(0x1000 + this.#count).toString(16)}\n`)
    const config = this.file(
      `${id}.cnf`,
      [
        '[ca]\ndefault_ca = this\n[this]',
        `database = ${database}\nserial = ${serial}\nnew_certs_dir = ${this.directory}`,
        'default_md = sha256\npolicy = any\nunique_subject = no\nemail_in_dn = no\n[any]\ncommonName = optional\n',
      ].join('\n'),
    )
    const { notBefore, notAfter } = validity ?? { notBefore: '20200101000000Z', notAfter: '20991231235959Z' }
    this.openssl([
      ...['ca', '-batch', '-notext', '-config', config, '-in', requestPath, '-out', certPath],
      ...['-keyfile', signer.key, '-extfile', extensionPath, '-startdate', notBefore, '-enddate', notAfter],
      ...(issuer === undefined ? ['-selfsign'] : ['-cert', issuer.certPath]),
    ])
    return { pem: readFileSync(certPath, 'utf8'), keyPath, certPath }
  }

  root(name: string, extensions: readonly string[] = CA): Issued {
    return this.issue({ name, extensions })
  }

  authority(name: string, issuer: Issued, extensions: readonly string[] = CA): Issued {
    return this.issue({ name, issuer, extensions })
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true })
  }
}
