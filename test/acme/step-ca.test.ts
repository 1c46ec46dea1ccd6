// @test long 15
/** A certificate from step-ca, as a company runs it, with its root among the authorities of outgoing connections. */

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { get } from 'node:https'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { freePort } from '../../tools/free-ports.ts'
import { Workshop } from '../configuration/authority.ts'
import { acmeServer, needs } from '../support/tools.ts'
import { certificateAt, choosePorts, openWhole, setAcme, untilPort } from './support/whole.ts'

const DEADLINE_MS = 60_000 // the machine may be busy

async function startStepCa(t: TestContext, ports: { http: number; appliance: number }) {
  const workshop = new Workshop()
  t.after(() => workshop.remove())
  const root = workshop.root('Company')
  const intermediate = workshop.authority('Company ACME', root)
  const port = await freePort()
  const config = {
    root: root.certPath,
    crt: intermediate.certPath,
    key: intermediate.keyPath,
    address: `127.0.0.1:${port}`,
    dnsNames: ['localhost'],
    db: { type: 'bbolt', dataSource: `${workshop.directory}/db` },
    authority: { provisioners: [{ type: 'ACME', name: 'acme' }] },
  }
  const file = workshop.file('ca.json', JSON.stringify(config))
  writeFileSync(`${workshop.directory}/defaults.json`, '{}')
  let output = ''
  const challenges = [`--acme-http-port=${ports.http}`, `--acme-tls-port=${ports.appliance}`]
  const child = spawn(acmeServer('step-ca').program, ['--insecure', ...challenges, file], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, HOME: workshop.directory, STEPPATH: workshop.directory },
  })
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  t.after(() => child.kill('SIGKILL'))
  const isThere = () =>
    new Promise<boolean>((resolve) => {
      const asked = get({ host: '127.0.0.1', port, path: '/health', rejectUnauthorized: false }, (response) =>
        resolve(response.resume().statusCode === 200),
      )
      asked.on('error', () => resolve(false))
    })
  const deadline = Date.now() + DEADLINE_MS
  while (!(await isThere())) {
    assert.ok(Date.now() < deadline, output)
    await wait(50)
  }
  return { directory: `https://localhost:${port}/acme/acme/directory`, root: root.pem, output: () => output }
}

const skip = acmeServer('step-ca').skip || needs('openssl').skip

for (const challenge of ['http-01', 'tls-alpn-01'] as const)
  test(`a certificate by ${challenge} for a name and an address`, { skip }, async (t) => {
    const ports = await choosePorts()
    const { directory, root, output } = await startStepCa(t, ports)
    const coffer = await openWhole(t, ports, root)
    await setAcme(coffer, { directory, challenge, appliance: ['localhost', '127.0.0.1'] })
    const status = await untilPort(coffer, 'appliance', ({ state }) => state === 'valid' || state === 'failing')
    assert.equal(status.state, 'valid', `${status.problem}\n${output()}`)
    const shown = await certificateAt(ports.appliance, 'localhost')
    assert.deepEqual(shown.subjectAltName!.split(', ').sort(), ['DNS:localhost', 'IP Address:127.0.0.1'])
    const hours = (shown.validToDate.getTime() - shown.validFromDate.getTime()) / 3_600_000
    assert.ok(hours > 23 && hours < 25, `${hours}`)
    assert.ok(Date.parse(status.renewAt!) - Date.now() < 14 * 3_600_000, 'a short life is renewed at its half')
  })
