/** Our commands against tpm2-tools, both on the same TPM. */

import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { extendRegister, policyOf, readRegisters } from '../../../boot/tpm/registers.ts'
import { nameUnder, unseal } from '../../../boot/tpm/sealed.ts'
import { withStorageKey } from '../../../boot/tpm/storage-key.ts'
import { HANDLE, keep, makeRig, onTpm } from './rig.ts'
import { toolsFor } from './tools.ts'

const HANDLE_TEXT = `0x${HANDLE.toString(16)}`
const STORAGE_KEY = [
  ...['-Q', '-C', 'o', '-g', 'sha256', '-G', 'ecc256:null:aes128cfb', '-c', '@storage.ctx'],
  ...['-a', 'fixedtpm|fixedparent|sensitivedataorigin|userwithauth|noda|restricted|decrypt'],
]
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

test('registers read and extended by either are the same', onTpm(), async (t) => {
  const { swtpm, use } = await makeRig(t)
  const tools = toolsFor(t, swtpm)
  const digest = randomBytes(32)
  tools.run('tpm2_pcrextend', `7:sha256=${hex(randomBytes(32))}`)
  use((tpm) => extendRegister(tpm, 12, digest))
  tools.run('tpm2_pcrread', 'sha256:0,7,12,23', '-o', '@registers')
  const read = use((tpm) => readRegisters(tpm, [23, 12, 0, 7]))
  assert.deepEqual([...read.keys()], [0, 7, 12, 23])
  assert.equal([...read.values()].map(hex).join(''), hex(tools.read('registers')))
  const extended = createHash('sha256').update(new Uint8Array(32)).update(digest).digest('hex')
  assert.equal(hex(read.get(12)!), extended)
  assert.equal(hex(read.get(0)!), '00'.repeat(32))
  assert.equal(hex(read.get(23)!), '00'.repeat(32))
})

test('the storage key is the one that tpm2-tools make from the same template', onTpm(), async (t) => {
  const { swtpm, use } = await makeRig(t)
  const tools = toolsFor(t, swtpm)
  tools.run('tpm2_createprimary', ...STORAGE_KEY)
  tools.run('tpm2_readpublic', '-Q', '-c', '@storage.ctx', '-n', '@name')
  tools.run('tpm2_flushcontext', '-t')
  const names = [1, 2].map(() => use((tpm) => withStorageKey(tpm, ({ name }) => hex(name))))
  assert.deepEqual(names, [hex(tools.read('name')), hex(tools.read('name'))])
})

test('a policy on registers is the one that tpm2-tools compute', onTpm(), async (t) => {
  const { swtpm, use } = await makeRig(t)
  const tools = toolsFor(t, swtpm)
  tools.run('tpm2_pcrextend', `7:sha256=${hex(randomBytes(32))}`)
  tools.run('tpm2_createpolicy', '-Q', '--policy-pcr', '-l', 'sha256:7,12', '-L', '@policy')
  const registers = use((tpm) => readRegisters(tpm, [7, 12]))
  assert.equal(hex(policyOf(registers)), hex(tools.read('policy')))
  assert.equal(hex(policyOf(new Map([...registers].reverse()))), hex(tools.read('policy')), 'in any order')
})

test('tpm2-tools open what we have sealed, and see that it answers to its policy alone', onTpm(), async (t) => {
  const { swtpm, use } = await makeRig(t)
  const tools = toolsFor(t, swtpm)
  const secret = randomBytes(32)
  const { name } = use((tpm) => keep(tpm, secret, readRegisters(tpm, [7, 12])))
  tools.run('tpm2_unseal', '-Q', '-c', HANDLE_TEXT, '-p', 'pcr:sha256:7,12', '-o', '@secret')
  assert.equal(hex(tools.read('secret')), hex(secret))
  const shown = tools.run('tpm2_readpublic', '-c', HANDLE_TEXT, '-n', '@name')
  assert.match(shown, /value: fixedtpm\|fixedparent\|adminwithpolicy\|noda\n/)
  assert.equal(hex(tools.read('name')), hex(name))
  assert.throws(() => tools.run('tpm2_unseal', '-Q', '-c', HANDLE_TEXT, '-o', '@other'), /policy|auth/i)
})

test('we open what tpm2-tools have sealed', onTpm(), async (t) => {
  const { swtpm, use } = await makeRig(t)
  const tools = toolsFor(t, swtpm)
  const secret = randomBytes(32)
  tools.write('secret', secret)
  tools.run('tpm2_createpolicy', '-Q', '--policy-pcr', '-l', 'sha256:7,12', '-L', '@policy')
  tools.run('tpm2_createprimary', ...STORAGE_KEY)
  tools.run('tpm2_flushcontext', '-t') // nobody manages the memory of a bare TPM: what is needed is loaded again
  const files = ['-u', '@sealed.pub', '-r', '@sealed.priv']
  tools.run(
    'tpm2_create',
    '-Q',
    '-C',
    '@storage.ctx',
    '-L',
    '@policy',
    '-a',
    'fixedtpm|fixedparent',
    '-i',
    '@secret',
    ...files,
  )
  tools.run('tpm2_flushcontext', '-t')
  tools.run('tpm2_load', '-Q', '-C', '@storage.ctx', ...files, '-c', '@sealed.ctx')
  tools.run('tpm2_evictcontrol', '-Q', '-C', 'o', '-c', '@sealed.ctx', HANDLE_TEXT)
  tools.run('tpm2_flushcontext', '-t')
  const opened = use((tpm) => {
    const sealed = { handle: HANDLE, name: nameUnder(tpm, HANDLE)! }
    return withStorageKey(tpm, (key) => unseal(tpm, key, sealed, { registers: readRegisters(tpm, [7, 12]) }))
  })
  assert.equal(hex(opened), hex(secret))
})
