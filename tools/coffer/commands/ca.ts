/** A small certificate authority whose key never leaves the appliance. What it does is in ../certify.ts, loaded when it is used. */

import { REASONS, USES } from '../../../firmware/client/certificate-uses.ts'
import type { Command } from '../command.ts'

const roles = ['Operator'] as const
const DIRECTORY = {
  directory: { value: 'DIRECTORY', summary: 'where the authority keeps its certificate and index; "ca" if left out' },
} as const

export const CA: Command[] = [
  {
    words: 'ca init',
    arguments: 'KEY',
    summary: 'Makes a certificate authority of a key, with a certificate that the key signs itself.',
    roles,
    options: {
      ...DIRECTORY,
      'common-name': { value: 'TEXT', summary: 'CN, what the authority is called' },
      organization: { value: 'TEXT', summary: 'O' },
      country: { value: 'XX', summary: 'C' },
      days: { value: 'NUMBER', summary: 'how long its certificate is valid; 3650 if left out' },
      certificate: { value: 'FILE', summary: 'its certificate, where another authority has signed it' },
      'crl-url': { value: 'URL', summary: 'where its list of revoked certificates will be: in what it issues' },
    },
    example: 'coffer ca init ca-key --common-name "Workshop CA"',
    run: async (context, input) => (await import('../certify.ts')).init(context, input),
  },
  {
    words: 'ca sign',
    arguments: 'REQUEST',
    summary: 'Shows a certificate request, asks, and prints the certificate; "-" is stdin.',
    roles,
    options: {
      ...DIRECTORY,
      for: { value: 'USE', choices: USES, summary: 'what the certificate is for; server if left out' },
      name: { value: 'NAME', many: true, summary: 'the names of the certificate, instead of those of the request' },
      days: { value: 'NUMBER', summary: 'how long it is valid; 365 if left out' },
      yes: { summary: 'without asking' },
      output: { value: 'FILE', summary: 'written there instead' },
    },
    example: 'coffer ca sign request.pem --for server --yes --output www.crt',
    run: async (context, input) => (await import('../certify.ts')).sign(context, input),
  },
  {
    words: 'ca list',
    summary: 'Lists what the authority has issued.',
    options: DIRECTORY,
    example: 'coffer ca list',
    run: async (context, input) => (await import('../certify.ts')).list(context, input),
  },
  {
    words: 'ca revoke',
    arguments: 'CERTIFICATE',
    summary: 'Revokes a certificate, a file or a serial number; it is told by the next list.',
    options: {
      ...DIRECTORY,
      reason: { value: 'REASON', choices: Object.keys(REASONS), summary: 'why' },
    },
    example: 'coffer ca revoke www.crt --reason superseded',
    run: async (context, input) => (await import('../certify.ts')).revoke(context, input),
  },
  {
    words: 'ca crl',
    summary: 'Writes the list of revoked certificates.',
    roles,
    options: {
      ...DIRECTORY,
      days: { value: 'NUMBER', summary: 'after how many the next one comes; 30 if left out' },
      output: { value: 'FILE', summary: 'crl.pem in the directory if left out; "-" is stdout' },
    },
    example: 'coffer ca crl',
    run: async (context, input) => (await import('../certify.ts')).revocationList(context, input),
  },
]
