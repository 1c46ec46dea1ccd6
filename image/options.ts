import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import manifest from '../package.json' with { type: 'json' }
import { type Architecture, readArchitecture } from './architecture.ts'

const USAGE = `usage: node image/build.ts --output DIRECTORY [option]...

  --arch x64|arm64           machine it is for; x64
  --version V                of the image; that of package.json
  --bundle DIRECTORY         from tools/build.ts; made of the sources as they are
  --release-signing-key KEY  from tools/release-key.ts: signs the update image
  --release-key PUB          what installed appliances verify updates with; the signing key's public half
  --release UPDATE           with the public key alone: makes this update image again, and says if it is not the same;
                             its versions and release notes are taken over
  --minimum-version V        oldest version that may be updated to this one; 0.0
  --rollback-floor V         once this image is good, older ones than V are never taken again; 0.0
  --release-notes FILE       shown when the update has been uploaded
  --secure-boot-keys DIR     from tools/secure-boot-keys.ts: signs for Secure Boot, and enrols the keys`

export interface ImageOptions {
  architecture: Architecture
  output: string
  version: string
  bundle: string | null
  /** PEM. Null: the appliance takes no updates. */
  releaseKey: string | null
  /** Null: no update image is made, unless it is one that is published. */
  signingKey: KeyObject | null
  /** Path of an update image that is made again. */
  published: string | null
  minimumVersion: string
  rollbackFloor: string
  releaseNotes: string
  secureBootKeys: string | null
}

export function readOptions(parameters: string[]): ImageOptions {
  const { values } = parseArgs({
    args: parameters,
    options: {
      arch: { type: 'string', default: 'x64' },
      output: { type: 'string' },
      version: { type: 'string', default: manifest.version },
      bundle: { type: 'string' },
      'release-signing-key': { type: 'string' },
      'release-key': { type: 'string' },
      release: { type: 'string' },
      'minimum-version': { type: 'string', default: '0.0' },
      'rollback-floor': { type: 'string', default: '0.0' },
      'release-notes': { type: 'string' },
      'secure-boot-keys': { type: 'string' },
    },
  })
  const { output, version, bundle, 'release-notes': notes, 'secure-boot-keys': secureBootKeys } = values
  if (output === undefined) throw new Error(USAGE)
  const signing = values['release-signing-key']
  const signingKey = signing === undefined ? null : createPrivateKey(readFileSync(signing))
  const known = values['release-key']
  if (values.release !== undefined && (known === undefined || signing !== undefined))
    throw new Error('--release needs --release-key, and no key to sign with')
  return {
    architecture: readArchitecture(values.arch),
    output: resolve(output),
    version,
    bundle: bundle === undefined ? null : resolve(bundle),
    releaseKey: known === undefined ? publicHalf(signingKey) : readFileSync(known, 'utf8'),
    signingKey,
    published: values.release === undefined ? null : resolve(values.release),
    minimumVersion: values['minimum-version'],
    rollbackFloor: values['rollback-floor'],
    releaseNotes: notes === undefined ? `Coffer ${version}.` : readFileSync(notes, 'utf8'),
    secureBootKeys: secureBootKeys === undefined ? null : resolve(secureBootKeys),
  }
}

const publicHalf = (key: KeyObject | null): string | null =>
  key === null ? null : createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString()
