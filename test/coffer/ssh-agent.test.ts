/** The SSH agent: OpenSSH logs in with it, and Git signs commits, with keys that stay in the appliance. */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import test, { after, before } from 'node:test'
import { expect } from '../support/appliance.ts'
import { ADMIN, type Appliance, addUser, startProvisioned } from '../support/suite.ts'
import { needs } from '../support/tools.ts'
import { createRig, type Rig } from './rig.ts'

const KEYS = {
  'ssh-ed': ['--for', 'ssh'],
  'ssh-ec': ['--for', 'sign'],
  'ssh-rsa': ['--type', 'RSA', '--length', '2048', '--mechanism', 'RSA_Signature_PKCS1'],
}

const { skip } = needs('ssh', 'sshd', 'git')
let appliance: Appliance
let rig: Rig
before(async () => {
  if (skip) return
  appliance = await startProvisioned()
  rig = await createRig()
  await rig.connect(appliance)
  await addUser(appliance, 'web', 'Operator')
  await rig.coffer('profile', 'user', 'Operator', 'web')
  for (const [id, how] of Object.entries(KEYS)) {
    const { code, stderr } = await rig.coffer('key', 'generate', id, ...how)
    assert.equal(code, 0, stderr)
    await rig.shell(`coffer key public ${id} --form ssh > ${id}.pub`)
  }
  await rig.shell('cat ssh-*.pub > authorized_keys')
})
after(async () => {
  rig?.dispose()
  await appliance?.dispose()
})

const signatures = async (key: string) => {
  const { lines } = (await appliance.call('GET', `/audit?key=${key}&action=sign`, { as: ADMIN })).json<{
    lines: unknown[]
  }>()
  return lines.length
}

test('ssh logs in with Ed25519, P-256 and RSA, and every login is a line of the audit log', { skip }, async () => {
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(rig.directory, 'host-test.key')])
  if (userInfo().uid === 0) mkdirSync('/run/sshd', { recursive: true }) // where the server of root confines itself
  const server = [
    `HostKey ${rig.directory}/host-test.key`,
    `AuthorizedKeysFile ${rig.directory}/authorized_keys`,
    'StrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin prohibit-password\nPidFile none\nLogLevel ERROR\n',
  ].join('\n')
  writeFileSync(join(rig.directory, 'sshd.conf'), server)
  for (const id of Object.keys(KEYS)) {
    const ssh = [
      `ssh -F none -i ${id}.pub -o IdentitiesOnly=yes -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR`,
      `-o ProxyCommand="/usr/sbin/sshd -i -f ${rig.directory}/sshd.conf"`,
      `${userInfo().username}@coffer echo logged in with ${id}`,
    ].join(' ')
    writeFileSync(join(rig.directory, 'login'), ssh)
    const { code, stdout, stderr } = await rig.coffer('ssh-agent', '--', 'sh', 'login')
    assert.equal(code, 0, stderr)
    assert.equal(stdout, `logged in with ${id}\n`)
    assert.equal(await signatures(id), 1)
  }
})

test('git signs commits that git verifies', { skip }, async () => {
  for (const id of Object.keys(KEYS)) {
    const script = [
      'set -e',
      `git init -q work-${id} && cd work-${id}`,
      'git config user.name Committer && git config user.email committer@example.org',
      `git config gpg.format ssh && git config user.signingkey ../${id}.pub`,
      `printf 'committer@example.org %s\\n' "$(cat ../${id}.pub)" > ../signers`,
      'git config gpg.ssh.allowedSignersFile ../signers',
      'git commit -q -S --allow-empty -m signed',
      'git verify-commit HEAD',
    ].join('\n')
    writeFileSync(join(rig.directory, 'commit'), script)
    const { code, stderr } = await rig.coffer('ssh-agent', '--key', id, '--', 'sh', 'commit')
    assert.equal(code, 0, stderr)
    assert.match(stderr, /Good "git" signature for committer@example\.org/)
    assert.equal(await signatures(id), 2)
  }
})

test('the program under the agent has no passphrase in its environment, and its exit status is kept', {
  skip,
}, async () => {
  const { code, stdout } = await rig.shell('coffer ssh-agent -- sh -c "env; exit 7"', {
    COFFER_PASSPHRASE: 'words of web',
  })
  assert.equal(code, 7)
  assert.match(stdout, /^SSH_AUTH_SOCK=/m)
  assert.doesNotMatch(stdout, /words of web/)
})

test('the agent uses nothing of an appliance that is Locked, and says so', { skip }, async () => {
  writeFileSync(join(rig.directory, 'late'), 'coffer lock; ssh-add -L')
  const during = await rig.coffer('ssh-agent', '--', 'sh', 'late')
  assert.notEqual(during.code, 0)
  assert.match(during.stderr, /the appliance is Locked: no key can be used/)
  const before = await rig.coffer('ssh-agent', '--', 'true')
  assert.deepEqual([before.code, /Locked/.test(before.stderr)], [4, true])
  await expect(204, appliance.call('POST', '/unlock', { json: { passphrase: 'words that unlock it' } }))
})
