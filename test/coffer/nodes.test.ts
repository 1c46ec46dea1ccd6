// @test long 25 slow
/** The command on every version of Node that it is for: a day's work of each, against a real appliance. */

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test, { after, before } from 'node:test'
import { type Appliance, startAppliance } from '../support/suite.ts'
import { needs, otherNode } from '../support/tools.ts'
import { createRig } from './rig.ts'

let appliance: Appliance
before(async () => {
  appliance = await startAppliance()
})
after(() => appliance.dispose())

/** The oldest and the newest, with COFFER_SLOW all; the pinned one, 24, runs all the other tests. */
const MAJORS = process.env.COFFER_SLOW === undefined ? [20, 26] : [20, 22, 26]

for (const major of MAJORS) {
  const { program, skip } = otherNode(major)
  test(`Node ${major} runs it`, { skip: skip || needs('openssl').skip }, async () => {
    const rig = await createRig(program)
    try {
      await rig.connect(appliance)
      const isFirst = (await appliance.state()) === 'Unprovisioned'
      writeFileSync(join(rig.directory, 'paper'), `a paper of ${major}\n`)
      const lines = [
        ...(isFirst ? ['coffer provision', 'coffer config backup-passphrase --first'] : []),
        `coffer user add op${major} --role Operator && coffer profile user Operator op${major}`,
        `coffer user add saver${major} --role Backup && coffer profile user Backup saver${major}`,
        ...['sign', 'ssh', 'code'].map((use) => `coffer key generate ${use}-${major} --for ${use}`),
        ...['sign', 'ssh', 'code'].map(
          (use) => `coffer sign ${use}-${major} paper && coffer verify ${use}-${major} paper`,
        ),
        `coffer ca init sign-${major} --common-name CA`,
        `coffer csr code-${major} --name www.example.org | coffer ca sign - --yes > leaf.crt`,
        'openssl verify -x509_strict -CAfile ca/ca.pem leaf.crt',
        'coffer backup create --output kept.backup',
        'coffer audit export --output log.jsonl && coffer audit verify log.jsonl',
        `coffer ssh-agent -- ssh-add -L | grep ssh-${major}`,
        'coffer key list --long && coffer help && coffer completion zsh',
      ]
      for (const line of lines) {
        const { code, stderr } = await rig.shell(line)
        assert.equal(code, 0, `${line}: ${stderr}`)
        assert.doesNotMatch(stderr, /Warning/, line)
      }
      const refused = await rig.shell('coffer key show nothing')
      assert.deepEqual([refused.code, refused.stdout], [1, ''], refused.stderr)
    } finally {
      rig.dispose()
    }
  })
}
