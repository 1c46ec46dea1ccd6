/** A small certificate authority whose key never leaves the appliance. What it does is in ../certify.ts, loaded when it is used. */

import { REASONS, USES } from '../../../firmware/client/certificate-uses.ts'
import type { Command } from '../command.ts'

const roles = ['Operator'] as const
const DIRECTORY = {
  directory: { value: 'DIRECTORY', summary: 'directory of the authority’s certificate and index; default: ca' },
} as const

export const CA: Command[] = [
  {
    words: 'ca init',
    arguments: 'KEY',
    summary: 'Create a certificate authority from a key, with a self-signed certificate.',
    roles,
    options: {
      ...DIRECTORY,
      'common-name': { value: 'TEXT', summary: 'CN, name of the authority' },
      organization: { value: 'TEXT', summary: 'O' },
      country: { value: 'XX', summary: 'C' },
      days: { value: 'NUMBER', summary: 'validity of its certificate in days; default: 3650' },
      certificate: { value: 'FILE', summary: 'its certificate, if another authority has signed it' },
      'crl-url': { value: 'URL', summary: 'URL of its revocation list, written into certificates that it issues' },
    },
    example: 'coffer ca init ca-key --common-name "Workshop CA"',
    run: async (context, input) => (await import('../certify.ts')).init(context, input),
  },
  {
    words: 'ca sign',
    arguments: 'REQUEST',
    summary: 'Show a certificate request, ask, and print the certificate; "-" is stdin.',
    roles,
    options: {
      ...DIRECTORY,
      for: { value: 'USE', choices: USES, summary: 'use of the certificate; default: server' },
      name: { value: 'NAME', many: true, summary: 'names in the certificate, instead of those in the request' },
      days: { value: 'NUMBER', summary: 'validity in days; default: 365' },
      yes: { summary: 'no confirmation' },
      output: { value: 'FILE', summary: 'output file; default: stdout' },
    },
    example: 'coffer ca sign request.pem --for server --yes --output www.crt',
    run: async (context, input) => (await import('../certify.ts')).sign(context, input),
  },
  {
    words: 'ca list',
    summary: 'List the certificates that the authority has issued.',
    options: DIRECTORY,
    example: 'coffer ca list',
    run: async (context, input) => (await import('../certify.ts')).list(context, input),
  },
  {
    words: 'ca revoke',
    arguments: 'CERTIFICATE',
    summary: 'Revoke a certificate, by file or serial number; the next revocation list has it.',
    options: {
      ...DIRECTORY,
      reason: { value: 'REASON', choices: Object.keys(REASONS), summary: 'reason of the revocation' },
    },
    example: 'coffer ca revoke www.crt --reason superseded',
    run: async (context, input) => (await import('../certify.ts')).revoke(context, input),
  },
  {
    words: 'ca crl',
    summary: 'Write the certificate revocation list.',
    roles,
    options: {
      ...DIRECTORY,
      days: { value: 'NUMBER', summary: 'days until the next list; default: 30' },
      output: { value: 'FILE', summary: 'output file, or "-" for stdout; default: crl.pem in the directory' },
    },
    example: 'coffer ca crl',
    run: async (context, input) => (await import('../certify.ts')).revocationList(context, input),
  },
]
