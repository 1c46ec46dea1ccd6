/** The order of checks: each request fails two checks, and the earlier one answers. */

import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { type Client, expect, stateOf } from '../support/appliance.ts'
import type { Call } from '../support/client.ts'
import { ADMIN, as, BACKUP as backup, type Check, type Look, OPERATOR as operator, UNLOCK } from './check.ts'

const long = 'x'.repeat(2000)
let serial = 0
const wrong = () => `nobody${serial++}:not the passphrase`

interface Case {
  /** Numbers of the two checks in the table of 1.7. */
  fails: [number, number]
  method: string
  path: string
  call?: Call
  /** Declares a body of this many bytes and never sends it. */
  declared?: number
  status: number
}

async function runCases(appliance: Client, look: Look, cases: readonly Case[]) {
  const problems: string[] = []
  for (const { fails, method, path, call = {}, declared, status } of cases) {
    const reply = await appliance.call(method, path, declared === undefined ? call : { ...call, declared })
    const text = `${method} ${path.slice(0, 60)} ${JSON.stringify(call).slice(0, 120)}`
    if (reply.status === status) look(reply, text)
    else problems.push(`checks ${fails.join(' and ')}: ${text}: expected ${status}, got ${reply.status}`)
  }
  assert.deepEqual(problems, [])
}

const TOO_MUCH = 2 * 1024 * 1024
const ATTEMPTS_MAX = 20 // at six answers within a second, on a computer that others use as well
const broken: Call = { body: '{}}}', type: 'application/json' }
const plain: Call = { body: '{}}}', type: 'text/plain' }

const locked: Case[] = [
  { fails: [1, 2], method: 'GET', path: '/nothing', status: 404 },
  { fails: [2, 3], method: 'PATCH', path: '/keys', status: 412 },
  { fails: [2, 3], method: 'PROPFIND', path: '/keys/shared/sign', status: 412 },
  { fails: [2, 4], method: 'GET', path: `/keys?${long}`, status: 412 },
  { fails: [2, 5], method: 'DELETE', path: '/keys', status: 412 },
  { fails: [2, 6], method: 'GET', path: '/keys', status: 412 },
  { fails: [2, 6], method: 'GET', path: '/keys', call: { as: wrong() }, status: 412 },
  { fails: [2, 7], method: 'DELETE', path: '/keys/shared', call: { as: operator }, status: 412 },
  { fails: [2, 8], method: 'PUT', path: '/keys/new', call: { as: ADMIN, ...plain }, status: 412 },
  { fails: [2, 9], method: 'PUT', path: '/keys/new', call: { as: ADMIN }, declared: TOO_MUCH, status: 412 },
  { fails: [2, 10], method: 'GET', path: '/keys', call: { as: ADMIN, accept: 'text/plain' }, status: 412 },
  { fails: [2, 11], method: 'GET', path: '/keys/.bad', call: { as: ADMIN }, status: 412 },
  { fails: [2, 12], method: 'GET', path: '/keys/missing', call: { as: ADMIN }, status: 412 },
  { fails: [2, 14], method: 'POST', path: '/provision', call: broken, status: 412 },
  ...['reboot', 'factory-reset', 'update', 'commit-update', 'cancel-update', 'backup', 'restore'].flatMap(
    (action): Case[] => [
      { fails: [2, 3], method: 'PATCH', path: `/system/${action}`, status: 412 },
      { fails: [2, 5], method: 'GET', path: `/system/${action}`, status: 412 },
      { fails: [2, 7], method: 'POST', path: `/system/${action}`, call: { as: operator }, status: 412 },
    ],
  ),
  { fails: [5, 6], method: 'GET', path: '/system/shutdown', status: 405 },
  { fails: [2, 8], method: 'PUT', path: '/config/network', call: { as: ADMIN, ...plain }, status: 412 },
  { fails: [2, 11], method: 'DELETE', path: '/cluster/members/x', call: { as: ADMIN }, status: 412 },
]

const operational: Case[] = [
  // 1 path known
  { fails: [1, 3], method: 'PATCH', path: '/nothing', status: 404 },
  { fails: [1, 4], method: 'GET', path: `/nothing?${long}`, status: 404 },
  { fails: [1, 4], method: 'GET', path: `/nothing/${long}`, status: 404 },
  { fails: [1, 5], method: 'DELETE', path: '/nothing', status: 404 },
  { fails: [1, 6], method: 'GET', path: '/nothing', call: { as: wrong() }, status: 404 },
  { fails: [1, 7], method: 'GET', path: '/nothing', call: { as: operator }, status: 404 },
  { fails: [1, 8], method: 'PUT', path: '/nothing', call: { as: ADMIN, ...plain }, status: 404 },
  { fails: [1, 9], method: 'PUT', path: '/nothing', call: { as: ADMIN }, declared: TOO_MUCH, status: 404 },
  { fails: [1, 10], method: 'GET', path: '/nothing', call: { accept: 'text/plain' }, status: 404 },
  { fails: [1, 14], method: 'POST', path: '/nothing', call: broken, status: 404 },
  // 2 state, on endpoints of other states
  { fails: [2, 3], method: 'PATCH', path: '/provision', status: 412 },
  { fails: [2, 4], method: 'POST', path: `/unlock?${long}`, status: 412 },
  { fails: [2, 5], method: 'GET', path: '/unlock', status: 412 },
  { fails: [2, 9], method: 'POST', path: '/provision', declared: TOO_MUCH, status: 412 },
  { fails: [2, 10], method: 'GET', path: '/health/alive', call: { accept: 'text/plain' }, status: 412 },
  { fails: [2, 14], method: 'POST', path: '/unlock', call: broken, status: 412 },
  // 3 method known at all
  { fails: [3, 4], method: 'PATCH', path: `/keys?${long}`, status: 501 },
  { fails: [3, 6], method: 'PATCH', path: '/keys', status: 501 },
  { fails: [3, 7], method: 'PATCH', path: '/namespaces', call: { as: operator }, status: 501 },
  { fails: [3, 8], method: 'PATCH', path: '/keys/shared', call: { as: ADMIN, ...plain }, status: 501 },
  { fails: [3, 9], method: 'PATCH', path: '/keys', declared: TOO_MUCH, status: 501 },
  { fails: [3, 10], method: 'PATCH', path: '/keys', call: { as: ADMIN, accept: 'text/plain' }, status: 501 },
  { fails: [3, 11], method: 'PATCH', path: '/keys/.bad', call: { as: ADMIN }, status: 501 },
  { fails: [3, 12], method: 'PATCH', path: '/keys/missing', call: { as: ADMIN }, status: 501 },
  // 4 target length
  { fails: [4, 5], method: 'DELETE', path: `/keys?${long}`, status: 414 },
  { fails: [4, 6], method: 'GET', path: `/keys?${long}`, status: 414 },
  { fails: [4, 7], method: 'GET', path: `/namespaces?${long}`, call: { as: operator }, status: 414 },
  { fails: [4, 8], method: 'PUT', path: `/keys/new?${long}`, call: { as: ADMIN, ...plain }, status: 414 },
  { fails: [4, 9], method: 'PUT', path: `/keys/new?${long}`, call: { as: ADMIN }, declared: TOO_MUCH, status: 414 },
  { fails: [4, 10], method: 'GET', path: `/keys?${long}`, call: { as: ADMIN, accept: 'text/plain' }, status: 414 },
  { fails: [4, 11], method: 'GET', path: `/keys/${long}`, call: { as: ADMIN }, status: 414 },
  { fails: [4, 12], method: 'GET', path: `/keys/missing?${long}`, call: { as: ADMIN }, status: 414 },
  { fails: [4, 13], method: 'GET', path: `/keys?${long}`, call: { headers: { 'if-none-match': '*' } }, status: 414 },
  { fails: [4, 14], method: 'POST', path: `/keys/shared/sign?${long}`, call: broken, status: 414 },
  // 5 method offered
  { fails: [5, 6], method: 'DELETE', path: '/keys', status: 405 },
  { fails: [5, 6], method: 'DELETE', path: '/keys', call: { as: wrong() }, status: 405 },
  { fails: [5, 7], method: 'POST', path: '/namespaces', call: { as: operator }, status: 405 },
  { fails: [5, 8], method: 'PUT', path: '/keys', call: { as: ADMIN, ...plain }, status: 405 },
  { fails: [5, 9], method: 'PUT', path: '/keys', call: { as: ADMIN }, declared: TOO_MUCH, status: 405 },
  { fails: [5, 10], method: 'PUT', path: '/keys', call: { as: ADMIN, accept: 'text/plain' }, status: 405 },
  { fails: [5, 11], method: 'POST', path: '/keys/.bad', call: { as: ADMIN }, status: 405 },
  { fails: [5, 12], method: 'POST', path: '/keys/missing', call: { as: ADMIN }, status: 405 },
  // 6 authentication
  { fails: [6, 7], method: 'GET', path: '/namespaces', call: { as: 'operator2:not the passphrase' }, status: 401 },
  { fails: [6, 8], method: 'PUT', path: '/keys/new', call: plain, status: 401 },
  { fails: [6, 9], method: 'PUT', path: '/keys/new', declared: TOO_MUCH, status: 401 },
  { fails: [6, 10], method: 'GET', path: '/keys', call: { accept: 'text/plain' }, status: 401 },
  { fails: [6, 11], method: 'GET', path: '/keys/.bad', status: 401 },
  { fails: [6, 12], method: 'GET', path: '/keys/missing', status: 401 },
  { fails: [6, 13], method: 'GET', path: '/keys', call: { headers: { 'if-match': '"x"' } }, status: 401 },
  { fails: [6, 14], method: 'POST', path: '/keys/generate', call: broken, status: 401 },
  // 7 role and namespace
  { fails: [7, 8], method: 'PUT', path: '/keys/new', call: { as: operator, ...plain }, status: 403 },
  { fails: [7, 9], method: 'PUT', path: '/keys/new', call: { as: operator }, declared: TOO_MUCH, status: 403 },
  { fails: [7, 10], method: 'GET', path: '/namespaces', call: { as: operator, accept: 'text/plain' }, status: 403 },
  { fails: [7, 11], method: 'DELETE', path: '/keys/.bad', call: { as: operator }, status: 403 },
  { fails: [7, 12], method: 'DELETE', path: '/keys/missing', call: { as: operator }, status: 403 },
  { fails: [7, 12], method: 'GET', path: '/users/missing', call: { as: operator }, status: 403 },
  { fails: [7, 12], method: 'POST', path: '/keys/missing/sign', call: { as: ADMIN, ...broken }, status: 403 },
  {
    fails: [7, 13],
    method: 'PUT',
    path: '/keys/shared',
    call: { as: operator, ...broken, headers: { 'if-none-match': '*' } },
    status: 403,
  },
  { fails: [7, 14], method: 'POST', path: '/keys/generate', call: { as: operator, ...broken }, status: 403 },
  // 8 content type
  {
    fails: [8, 9],
    method: 'PUT',
    path: '/keys/new',
    call: { as: ADMIN, type: 'text/plain' },
    declared: TOO_MUCH,
    status: 415,
  },
  {
    fails: [8, 10],
    method: 'POST',
    path: '/keys/generate',
    call: { as: ADMIN, ...plain, accept: 'text/plain' },
    status: 415,
  },
  { fails: [8, 11], method: 'PUT', path: '/keys/.bad', call: { as: ADMIN, ...plain }, status: 415 },
  {
    fails: [8, 13],
    method: 'PUT',
    path: '/keys/shared',
    call: { as: ADMIN, ...plain, headers: { 'if-none-match': '*' } },
    status: 415,
  },
  { fails: [8, 14], method: 'PUT', path: '/keys/new', call: { as: ADMIN, ...plain }, status: 415 },
  { fails: [8, 15], method: 'PUT', path: '/users/inside~new', call: { as: ADMIN, ...plain }, status: 415 },
  // 9 declared size
  {
    fails: [9, 10],
    method: 'POST',
    path: '/keys/generate',
    call: { as: ADMIN, type: 'application/json', accept: 'text/plain' },
    declared: TOO_MUCH,
    status: 413,
  },
  {
    fails: [9, 11],
    method: 'PUT',
    path: '/keys/.bad',
    call: { as: ADMIN, type: 'application/json' },
    declared: TOO_MUCH,
    status: 413,
  },
  {
    fails: [9, 12],
    method: 'POST',
    path: '/keys/missing/sign',
    call: { as: operator, type: 'application/json' },
    declared: 68 * 1024 * 1024,
    status: 413,
  },
  {
    fails: [9, 13],
    method: 'PUT',
    path: '/keys/shared',
    call: { as: ADMIN, type: 'application/json', headers: { 'if-none-match': '*' } },
    declared: TOO_MUCH,
    status: 413,
  },
  // 10 accept
  { fails: [10, 11], method: 'GET', path: '/keys/.bad', call: { as: ADMIN, accept: 'text/plain' }, status: 406 },
  { fails: [10, 12], method: 'GET', path: '/keys/missing', call: { as: ADMIN, accept: 'text/plain' }, status: 406 },
  {
    fails: [10, 13],
    method: 'GET',
    path: '/keys/shared',
    call: { as: ADMIN, accept: 'text/plain', headers: { 'if-match': '"x"' } },
    status: 406,
  },
  {
    fails: [10, 14],
    method: 'POST',
    path: '/keys/shared/sign',
    call: { as: operator, ...broken, accept: 'text/plain' },
    status: 406,
  },
  // 11 ids
  {
    fails: [11, 13],
    method: 'PUT',
    path: '/keys/.bad',
    call: { as: ADMIN, json: {}, headers: { 'if-match': '*' } },
    status: 400,
  },
  // 12 resource, 13 conditions, 14 body
  { fails: [12, 14], method: 'POST', path: '/keys/missing/sign', call: { as: operator, ...broken }, status: 404 },
  { fails: [12, 14], method: 'POST', path: '/keys/missing/move', call: { as: ADMIN, ...broken }, status: 404 },
  { fails: [12, 14], method: 'POST', path: '/users/missing/passphrase', call: { as: ADMIN, ...broken }, status: 404 },
  {
    fails: [13, 14],
    method: 'PUT',
    path: '/keys/shared',
    call: { as: ADMIN, ...broken, headers: { 'if-none-match': '*' } },
    status: 412,
  },
  {
    fails: [13, 15],
    method: 'DELETE',
    path: '/users/admin',
    call: { as: ADMIN, headers: { 'if-match': '"x"' } },
    status: 412,
  },
  // 14 body before 15
  { fails: [14, 15], method: 'PUT', path: '/keys/missing/label', call: { as: ADMIN, ...broken }, status: 400 },
  {
    fails: [15, 15],
    method: 'PUT',
    path: '/keys/missing/label',
    call: { as: ADMIN, json: { label: '' } },
    status: 404,
  },
  { fails: [14, 15], method: 'PUT', path: '/users/operator', call: { as: ADMIN, ...broken }, status: 400 },
  { fails: [14, 15], method: 'PUT', path: '/users/inside~new', call: { as: ADMIN, ...broken }, status: 400 },
  {
    fails: [15, 15], // a namespace of others before a user that exists
    method: 'PUT',
    path: '/users/inside~admin',
    call: { as: ADMIN, json: { realName: 'x', role: 'Operator', passphrase: 'long enough' } },
    status: 403,
  },
  {
    fails: [14, 15],
    method: 'PUT',
    path: '/config/unlock-passphrase',
    call: { as: ADMIN, json: { newPassphrase: 'short', currentPassphrase: 'wrong passphrase' } },
    status: 400,
  },
  // 15 for a signature: tag restriction, base64, mode
  {
    fails: [14, 15], // tags before the body: callers send no megabytes for a key that they may not use
    method: 'POST',
    path: '/keys/restricted/sign',
    call: { as: operator, json: { mode: 'EdDSA' } },
    status: 403,
  },
  {
    fails: [15, 15],
    method: 'POST',
    path: '/keys/restricted/sign',
    call: { as: operator, json: { mode: 'EdDSA', message: '***' } },
    status: 403,
  },
  {
    fails: [15, 15],
    method: 'POST',
    path: '/keys/restricted/sign',
    call: { as: operator, json: { mode: 'ECDSA', message: 'AAAA' } },
    status: 403,
  },
  {
    fails: [15, 15],
    method: 'POST',
    path: '/keys/restricted/decrypt',
    call: { as: operator, json: { mode: 'RAW', encrypted: '***' } },
    status: 403,
  },
  {
    fails: [15, 15],
    method: 'POST',
    path: '/keys/restricted/encrypt',
    call: { as: operator, json: { mode: 'AES_CBC', message: '***' } },
    status: 403,
  },
]

const pem: Call = { body: 'no certificate', type: 'application/x-pem-file' }
const another: Call = { headers: { 'if-match': '"another"' } }
const bytes: Call = { body: 'no backup', type: 'application/octet-stream' }
const urls: Call = { json: { urls: ['https://192.0.2.7:2380'] } }

/** Nothing of it may reboot, erase or switch off: every case fails before its last check. */
const administration: Case[] = [
  ...['reboot', 'shutdown', 'factory-reset', 'update', 'commit-update', 'cancel-update', 'backup', 'restore'].flatMap(
    (action): Case[] => {
      const path = `/system/${action}`
      return [
        { fails: [3, 6], method: 'PATCH', path, status: 501 },
        { fails: [4, 5], method: 'GET', path: `${path}?${long}`, status: 414 },
        { fails: [4, 6], method: 'POST', path: `${path}?${long}`, status: 414 },
        { fails: [5, 6], method: 'GET', path, status: 405 },
        { fails: [5, 7], method: 'DELETE', path, call: { as: operator }, status: 405 },
        { fails: [6, 13], method: 'POST', path, call: another, status: 401 },
        { fails: [7, 13], method: 'POST', path, call: { as: operator, ...another }, status: 403 },
        { fails: [7, 14], method: 'POST', path, call: { as: operator, ...broken }, status: 403 },
      ]
    },
  ),
  // 13 comes before what they do
  { fails: [13, 15], method: 'POST', path: '/system/reboot', call: { as: ADMIN, ...another }, status: 412 },
  { fails: [13, 15], method: 'POST', path: '/system/shutdown', call: { as: ADMIN, ...another }, status: 412 },
  { fails: [13, 15], method: 'POST', path: '/system/factory-reset', call: { as: ADMIN, ...another }, status: 412 },
  { fails: [10, 15], method: 'POST', path: '/system/backup', call: { as: backup, accept: 'text/html' }, status: 406 },
  { fails: [7, 10], method: 'POST', path: '/system/backup', call: { as: ADMIN, accept: 'text/html' }, status: 403 },
  { fails: [13, 14], method: 'POST', path: '/system/restore', call: { as: ADMIN, ...bytes, ...another }, status: 412 },
  { fails: [13, 14], method: 'POST', path: '/system/update', call: { as: ADMIN, ...bytes, ...another }, status: 412 },
  {
    fails: [10, 14],
    method: 'POST',
    path: '/system/update',
    call: { as: ADMIN, ...bytes, accept: 'a/b' },
    status: 406,
  },

  ...[
    ['/config/tls', 'cluster-ca.pem'],
    ['/cluster/tls', 'ca.pem'],
  ].flatMap(([tls, ca]): Case[] => [
    { fails: [6, 8], method: 'PUT', path: `${tls}/cert.pem`, call: plain, status: 401 },
    { fails: [7, 8], method: 'PUT', path: `${tls}/cert.pem`, call: { as: operator, ...plain }, status: 403 },
    { fails: [8, 9], method: 'PUT', path: `${tls}/cert.pem`, call: { as: ADMIN }, declared: TOO_MUCH, status: 415 },
    { fails: [8, 13], method: 'PUT', path: `${tls}/cert.pem`, call: { as: ADMIN, ...plain, ...another }, status: 415 },
    { fails: [8, 14], method: 'PUT', path: `${tls}/cert.pem`, call: { as: ADMIN, ...plain }, status: 415 },
    { fails: [13, 14], method: 'PUT', path: `${tls}/cert.pem`, call: { as: ADMIN, ...pem, ...another }, status: 412 },
    { fails: [7, 8], method: 'PUT', path: `${tls}/${ca}`, call: { as: operator, ...plain }, status: 403 },
    { fails: [8, 14], method: 'PUT', path: `${tls}/${ca}`, call: { as: ADMIN, ...plain }, status: 415 },
    { fails: [10, 12], method: 'GET', path: `${tls}/${ca}`, call: { as: ADMIN, accept: 'a/b' }, status: 406 },
    { fails: [12, 13], method: 'GET', path: `${tls}/${ca}`, call: { as: ADMIN, ...another }, status: 404 },
    { fails: [7, 14], method: 'POST', path: `${tls}/generate`, call: { as: operator, ...broken }, status: 403 },
    {
      fails: [10, 14],
      method: 'POST',
      path: `${tls}/csr.pem`,
      call: { as: ADMIN, ...broken, accept: 'a/b' },
      status: 406,
    },
  ]),
  ...['network', 'logging', 'backup-passphrase', 'audit'].flatMap((name): Case[] => {
    const path = `/config/${name}`
    return [
      { fails: [6, 8], method: 'PUT', path, call: plain, status: 401 },
      { fails: [7, 8], method: 'PUT', path, call: { as: operator, ...plain }, status: 403 },
      { fails: [7, 14], method: 'PUT', path, call: { as: operator, ...broken }, status: 403 },
      { fails: [8, 14], method: 'PUT', path, call: { as: ADMIN, ...plain }, status: 415 },
    ]
  }),
  {
    fails: [13, 14],
    method: 'PUT',
    path: '/config/network',
    call: { as: ADMIN, ...broken, headers: { 'if-match': '"x"' } },
    status: 412,
  },

  { fails: [7, 11], method: 'GET', path: '/audit?limit=none', call: { as: operator }, status: 403 },
  { fails: [10, 11], method: 'GET', path: '/audit?limit=none', call: { as: ADMIN, accept: 'text/plain' }, status: 406 },

  { fails: [7, 8], method: 'POST', path: '/cluster/members', call: { as: operator, ...plain }, status: 403 },
  { fails: [8, 14], method: 'POST', path: '/cluster/members', call: { as: ADMIN, ...plain }, status: 415 },
  {
    fails: [10, 14],
    method: 'POST',
    path: '/cluster/members',
    call: { as: ADMIN, ...broken, accept: 'a/b' },
    status: 406,
  },
  { fails: [14, 15], method: 'POST', path: '/cluster/members', call: { as: ADMIN, ...broken }, status: 400 },
  { fails: [8, 11], method: 'PUT', path: '/cluster/members/x', call: { as: ADMIN, ...plain }, status: 415 },
  { fails: [11, 13], method: 'PUT', path: '/cluster/members/x', call: { as: ADMIN, ...urls, ...another }, status: 400 },
  { fails: [14, 15], method: 'PUT', path: '/cluster/members/f', call: { as: ADMIN, ...broken }, status: 400 },
  { fails: [7, 11], method: 'DELETE', path: '/cluster/members/x', call: { as: operator }, status: 403 },
  { fails: [12, 13], method: 'DELETE', path: '/cluster/members/f', call: { as: ADMIN, ...another }, status: 404 },
  { fails: [7, 12], method: 'POST', path: '/cluster/members/f/promote', call: { as: operator }, status: 403 },
  { fails: [14, 15], method: 'POST', path: '/cluster/join', call: { as: ADMIN, ...broken }, status: 400 },
  { fails: [5, 6], method: 'GET', path: '/cluster/force-new', status: 405 },
  { fails: [6, 14], method: 'POST', path: '/cluster/force-new', call: { as: ADMIN, ...another }, status: 401 },
]

export const order: Check[] = [
  {
    section: '1.7',
    name: 'the order of checks while Operational',
    run: (appliance, look) => runCases(appliance, look, operational),
  },
  {
    section: '1.7',
    name: 'the order of checks where the appliance itself is administered',
    async run(appliance, look) {
      await runCases(appliance, look, administration)
      assert.equal(await stateOf(appliance), 'Operational')
      await expect(200, appliance.call('GET', '/keys/shared', as(ADMIN)))
    },
  },
  {
    section: '1.7, 7.1',
    name: 'a delayed caller is told so before anything is verified, but after state, method and target',
    needs: ['addresses'],
    async run(appliance) {
      const delayed = { as: 'operator:a wrong passphrase', from: '127.0.0.77' }
      const { from } = delayed
      for (let attempt = 0; ; attempt++) {
        await expect(401, appliance.call('GET', '/keys', delayed))
        const started = Date.now()
        const statuses = [
          (await appliance.call('DELETE', '/keys', delayed)).status,
          (await appliance.call('GET', `/keys?${long}`, delayed)).status,
          (await appliance.call('PATCH', '/keys', delayed)).status,
          (await appliance.call('POST', '/unlock', delayed)).status,
          (await appliance.call('GET', '/namespaces', { as: operator, from })).status,
          (await appliance.call('PUT', '/keys/x', { as: operator, from, body: 'x', type: 'text/plain' })).status,
        ]
        const elapsed = Date.now() - started
        if (elapsed < 900) {
          assert.deepEqual(statuses, [405, 414, 501, 412, 429, 429])
          break
        }
        assert(attempt < ATTEMPTS_MAX, 'six answers within a second')
        await delay(1100)
      }
    },
  },
  {
    section: '1.7',
    name: 'the order of checks while Locked',
    async run(appliance, look) {
      await expect(204, appliance.call('POST', '/lock', as(ADMIN)))
      await runCases(appliance, look, locked)
      await expect(204, appliance.call('POST', '/unlock', { json: { passphrase: UNLOCK } }))
    },
  },
]
