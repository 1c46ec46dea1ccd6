/** The configuration of NetHSM's PKCS #11 module for the appliance of a profile, which opens the way to OpenSSL, nginx, EJBCA and others. */

import { mkdirSync, readFileSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Command, OptionValues } from '../command.ts'
import type { CommandContext } from '../context.ts'
import { EXIT, Failure } from '../failure.ts'
import { writeWhole } from '../files.ts'
import { meet } from '../transport.ts'

const MARK = '# Written by coffer pkcs11.'

export const PKCS11: Command[] = [
  {
    words: 'pkcs11',
    summary: 'Write the configuration of NetHSM’s PKCS #11 module, and test the module if one is given.',
    roles: ['Operator'],
    options: {
      output: { value: 'FILE', summary: 'output file; default: p11nethsm.conf where the module looks for it' },
      module: { value: 'FILE', summary: 'libnethsm_pkcs11.so, for a test with pkcs11-tool' },
      'pin-variable': {
        value: 'NAME',
        summary: 'variable with the passphrase for the module; without it programs ask for a PIN',
      },
    },
    example: 'coffer pkcs11 --output p11nethsm.conf',
    run,
  },
]

async function run(context: CommandContext, input: OptionValues): Promise<void> {
  const { output, signal, profile, profileName, user, url, trust } = context
  const file = input.text('output') ?? join(homedir(), '.config/nitrokey/p11nethsm.conf') // one of three where it looks
  if (!isOurs(file)) throw new Failure(EXIT.refused, `${file} was written by somebody else`, '--output FILE')
  const peer = await meet(url(), trust())
  const { pin, ca } = trust()
  if (pin !== undefined && pin !== peer.pin)
    throw new Failure(EXIT.connection, `${url()} has another key than before: ${peer.pin}`)
  const variable = input.text('pin-variable')
  const { createHash } = await import('node:crypto')
  const text = configuration({
    label: profileName(),
    url: url(),
    operator: user(),
    administrator: profile()?.users.Administrator,
    variable,
    fingerprint:
      peer.isTrusted && ca === undefined
        ? undefined
        : colons(createHash('sha256').update(peer.certificate).digest('hex')),
  })
  mkdirSync(dirname(file), { recursive: true })
  await writeWhole(file, [Buffer.from(text)], signal)
  output.result({ file }, () => file)
  const module = input.text('module')
  if (module !== undefined) await tryModule(module, file, variable === undefined)
}

/** It is not there, or was written here: what somebody has set up for other appliances is not lost. */
function isOurs(file: string): boolean {
  const isThere = statSync(file, { throwIfNoEntry: false })?.isFile() === true
  return !isThere || readFileSync(file, 'utf8').startsWith(MARK)
}

interface Slot {
  label: string
  url: string
  operator: string
  administrator?: string | undefined
  variable?: string | undefined
  /** SHA-256 of the certificate, where no authority of the system signs for it: the module knows no others. */
  fingerprint?: string | undefined
}

/** YAML; every value that is not ours is a JSON string, which YAML reads the same. */
export function configuration({ label, url, operator, administrator, variable, fingerprint }: Slot): string {
  const user = (role: string, name: string, password?: string) => [
    `    ${role}:`,
    `      username: ${JSON.stringify(name)}`,
    ...(password === undefined ? [] : [`      password: ${JSON.stringify(`env:${password}`)}`]),
  ]
  return [
    `${MARK} When the appliance is given another certificate, it has to be written again.`,
    'slots:',
    `  - label: ${JSON.stringify(label)}`,
    '    description: Coffer',
    ...user('operator', operator, variable),
    ...(administrator === undefined ? [] : user('administrator', administrator)),
    '    instances:',
    `      - url: ${JSON.stringify(`${url}/api/v1`)}`,
    ...(fingerprint === undefined
      ? []
      : ['        sha256_fingerprints:', `          - ${JSON.stringify(fingerprint)}`]),
    '    retries:',
    '      count: 5',
    '      delay_seconds: 1',
    '    timeout_seconds: 30',
    '',
  ].join('\n')
}

/** Who logs in is asked by pkcs11-tool, unless the module knows a variable: no passphrase goes from here to another program. */
async function tryModule(module: string, file: string, asksPin: boolean): Promise<void> {
  const { spawn } = await import('node:child_process')
  const line = ['--module', module, '--list-objects', '--type', 'pubkey']
  const child = spawn('pkcs11-tool', [...line, ...(asksPin ? ['--login'] : [])], {
    stdio: ['inherit', 2, 'inherit'],
    env: { ...process.env, P11NETHSM_CONFIG_FILE: file },
  })
  const code = await new Promise<number | null>((done, fail) => {
    child.once('error', () => fail(new Failure(EXIT.refused, 'pkcs11-tool is missing', 'sudo apt install opensc')))
    child.once('close', done)
  })
  if (code !== 0) throw new Failure(EXIT.refused, `the module did not list the keys: ${module}`)
}

const colons = (hex: string): string => hex.toUpperCase().replace(/..(?=.)/g, '$&:')
