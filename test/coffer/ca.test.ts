// @test long 30
/** The certificate authority: OpenSSL verifies what it issues and revokes, and it issues nothing for what is not in order. */

import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test, { after, before } from 'node:test'
import { type Appliance, addUser, startProvisioned } from '../support/suite.ts'
import { needs } from '../support/tools.ts'
import { createRig, type Rig, type Run } from './rig.ts'

const { skip } = needs('openssl')
const KEYS = {
  'ca-ec': ['--for', 'sign'],
  'ca-p384': ['--type', 'EC_P384', '--mechanism', 'ECDSA_Signature'],
  'ca-ed': ['--for', 'ssh'],
  'ca-rsa': ['--type', 'RSA', '--length', '2048', '--mechanism', 'RSA_Signature_PKCS1'],
  'ca-pss': ['--type', 'RSA', '--length', '2048', '--mechanism', 'RSA_Signature_PSS_SHA256'],
}

let appliance: Appliance
let rig: Rig
before(async () => {
  if (skip) return
  appliance = await startProvisioned()
  rig = await createRig()
  await rig.connect(appliance)
  await addUser(appliance, 'web', 'Operator')
  await rig.coffer('profile', 'user', 'Operator', 'web')
  for (const [id, how] of Object.entries(KEYS)) await good(rig.coffer('key', 'generate', id, ...how))
  await request('www', 'www.example.org', 'DNS:www.example.org,IP:192.0.2.7')
})
after(async () => {
  rig?.dispose()
  await appliance?.dispose()
})

const file = (name: string) => join(rig.directory, name)
const text = (name: string) => readFileSync(file(name), 'utf8')
const shell = (line: string) => good(rig.shell(line))

async function good(run: Promise<Run>): Promise<string> {
  const { code, stdout, stderr } = await run
  assert.equal(code, 0, stderr)
  return stdout
}

async function refused(line: string, why: RegExp, status = 1): Promise<void> {
  const { code, stdout, stderr } = await rig.shell(line)
  assert.deepEqual([code, stdout], [status, ''], stderr)
  assert.match(stderr, why)
}

/** `NAME.pem`, made by OpenSSL. */
async function request(name: string, commonName: string, names?: string, key = 'ec -pkeyopt ec_paramgen_curve:P-256') {
  const more = names === undefined ? '' : `-addext subjectAltName=${names}`
  await shell(
    `openssl req -new -newkey ${key} -nodes -keyout ${name}-test.key -subj "/O=Workshop/CN=${commonName}" ${more} -out ${name}.pem`,
  )
}

for (const id of ['ca-ec', 'ca-p384', 'ca-ed', 'ca-rsa'])
  test(`OpenSSL verifies certificates and lists that ${id} signs`, { skip }, async () => {
    await shell(
      `coffer ca init ${id} --directory ${id} --common-name "Workshop CA" --organization Workshop --country DE`,
    )
    await shell(`openssl verify -x509_strict -check_ss_sig -CAfile ${id}/ca.pem ${id}/ca.pem`)
    await shell(`coffer ca sign www.pem --directory ${id} --yes --days 10 > ${id}/www.crt`)
    await shell(
      `openssl verify -x509_strict -purpose sslserver -verify_hostname www.example.org -CAfile ${id}/ca.pem ${id}/www.crt`,
    )
    await shell(
      `openssl verify -x509_strict -purpose sslserver -verify_ip 192.0.2.7 -CAfile ${id}/ca.pem ${id}/www.crt`,
    )
    assert.notEqual((await rig.shell(`openssl verify -purpose sslclient -CAfile ${id}/ca.pem ${id}/www.crt`)).code, 0)
    await shell(`coffer ca crl --directory ${id}`)
    const check = `openssl verify -crl_check -x509_strict -CAfile ${id}/ca.pem -CRLfile ${id}/crl.pem ${id}/www.crt`
    await shell(check)
    await shell(
      `coffer ca revoke ${id}/www.crt --directory ${id} --reason keyCompromise && coffer ca crl --directory ${id}`,
    )
    const revoked = await rig.shell(check)
    assert.match(revoked.stdout + revoked.stderr, /certificate revoked/)
    const shown = await shell(`openssl crl -in ${id}/crl.pem -noout -text -CAfile ${id}/ca.pem 2>&1`)
    assert.match(shown, /verify OK/)
    assert.match(shown, /X509v3 CRL Number: \n +2\n/)
    assert.match(shown, /Key Compromise/)
  })

test('a certificate has the names, the key and the use that were asked for, and no more', { skip }, async () => {
  await shell('coffer ca sign www.pem --directory ca-rsa --yes --days 30 --output leaf.crt')
  const shown = await shell('openssl x509 -in leaf.crt -noout -text')
  assert.match(shown, /Subject: O = Workshop, CN = www\.example\.org|Subject: O=Workshop, CN=www\.example\.org/)
  assert.match(shown, /DNS:www\.example\.org, IP Address:192\.0\.2\.7/)
  assert.match(shown, /Basic Constraints: critical\n +CA:FALSE/)
  assert.match(shown, /Key Usage: critical\n +Digital Signature\n/)
  assert.match(shown, /Extended Key Usage: \n +TLS Web Server Authentication\n/)
  const key = await shell('openssl x509 -in leaf.crt -noout -pubkey')
  assert.equal(key, await shell('openssl req -in www.pem -noout -pubkey'))
  await request('rsa', 'mail.example.org', 'email:somebody@example.org', 'rsa:2048')
  await shell('coffer ca sign rsa.pem --directory ca-rsa --for email --yes > mail.crt')
  assert.match(await shell('openssl x509 -in mail.crt -noout -text'), /Digital Signature, Key Encipherment\n/)
  await shell('openssl verify -x509_strict -purpose smimesign -CAfile ca-rsa/ca.pem mail.crt')
  await shell('coffer ca sign www.pem --directory ca-rsa --for client --name other.example.org --yes > client.crt')
  await shell(
    'openssl verify -x509_strict -purpose sslclient -verify_hostname other.example.org -CAfile ca-rsa/ca.pem client.crt',
  )
})

test('an authority below another one issues what verifies against the upper one, and makes no more authorities', {
  skip,
}, async () => {
  await shell('coffer key generate ca-below --for sign && coffer key generate ca-third --for sign')
  await shell('coffer csr ca-below --common-name "CA below" --no-san > below.pem')
  await shell('coffer ca sign below.pem --directory ca-ec --for authority --yes > below.crt')
  await shell(
    'coffer ca init ca-below --directory below --certificate below.crt --crl-url http://crl.example.org/below.crl',
  )
  await shell('coffer ca sign www.pem --directory below --yes > deep.crt')
  await shell(
    'openssl verify -x509_strict -purpose sslserver -verify_hostname www.example.org -CAfile ca-ec/ca.pem -untrusted below.crt deep.crt',
  )
  assert.match(await shell('openssl x509 -in deep.crt -noout -text'), /URI:http:\/\/crl\.example\.org\/below\.crl/)
  await shell('coffer csr ca-third --common-name Third --no-san > third.pem')
  await refused('coffer ca sign third.pem --directory below --for authority --yes', /path length is 0/)
  await refused('coffer ca init ca-third --directory third --certificate below.crt', /for another key/)
  await refused('coffer ca init ca-below --directory third --certificate deep.crt', /for another key/)
})

test('a request that lacks something, was changed or is not signed by its key is refused', { skip }, async () => {
  const sign = (name: string) => `coffer ca sign ${name} --directory ca-ec --yes`
  await request('bare', 'www.example.org')
  await refused(sign('bare.pem'), /has a DNS name or address, and the request has none/)
  await request('weak', 'www.example.org', 'DNS:www.example.org', 'rsa:1024')
  await refused(sign('weak.pem'), /its key is rsa 1024/)
  await shell('openssl req -in www.pem -outform DER -out www.der')
  const der = readFileSync(file('www.der'))
  const at = der.indexOf('www.example.org')
  writeFileSync(file('changed.der'), Buffer.concat([der.subarray(0, at), Buffer.from('w0w'), der.subarray(at + 3)]))
  await refused(sign('changed.der'), /not signed by its own key, or was changed/)
  writeFileSync(file('longer.der'), Buffer.concat([der, Buffer.of(0)]))
  await refused(sign('longer.der'), /the request is refused/)
  writeFileSync(file('two.pem'), text('www.pem') + text('bare.pem'))
  await refused(sign('two.pem'), /Not one certificate request/)
  await refused(sign('ca-ec/ca.pem'), /Not one certificate request/)
  await refused('coffer ca sign www.pem --directory ca-ec', /not signed/)
  await refused('coffer ca sign www.pem --directory nowhere --yes', /no authority in nowhere/)
  await refused('coffer ca init ca-pss --directory pss --common-name CA', /may not sign certificates/)
  await refused('coffer ca init ca-ec --directory ca-ec --common-name CA', /there is an authority in ca-ec/)
  await refused('coffer ca revoke leaf.crt --directory ca-ec', /not one of this authority/)
})

test('OpenSSL’s own programs read the index, and the list tells what it says', { skip }, async () => {
  await shell('coffer ca init ca-ed --directory index --common-name "Index CA"')
  const serials = []
  for (let n = 0; n < 3; n++)
    serials.push(JSON.parse(await shell('coffer ca sign www.pem --directory index --yes --json')).serial)
  await shell(`coffer ca revoke ${serials[1]} --directory index --reason superseded`)
  await refused(`coffer ca revoke ${serials[1]} --directory index`, /is revoked already/)
  const listed = JSON.parse(await shell('coffer ca list --directory index --json')) as {
    serial: string
    state: string
  }[]
  assert.deepEqual(
    listed.map(({ serial, state }) => [serial, state]),
    serials.map((serial, at) => [serial, at === 1 ? 'revoked' : 'valid']),
  )
  const settings = '[ca]\ndefault_ca=own\n[own]\ndatabase=index/index.txt\nserial=index/serial\ndefault_md=default\n'
  writeFileSync(file('openssl.cnf'), settings)
  for (const [at, serial] of serials.entries()) {
    const { stderr } = await rig.shell(`openssl ca -config openssl.cnf -status ${serial}`)
    assert.match(stderr, at === 1 ? /=Revoked \(R\)/ : /=Valid \(V\)/)
  }
})

test('two at once do not lose each other’s certificates', { skip }, async () => {
  const line = 'coffer ca sign www.pem --directory index --yes --quiet > /dev/null 2>> both; echo $?'
  const { stdout } = await rig.shell(`(${line}) & (${line}) & wait`)
  const done = stdout.split('\n').filter((code) => code === '0').length
  assert.ok(done >= 1, text('both'))
  assert.equal((await shell('coffer ca list --directory index --quiet')).trim().split('\n').length, 3 + done)
})

test('a server with a certificate of the authority is trusted by the command that is given it with --ca', {
  skip,
}, async () => {
  await shell('coffer ca init ca-ec --directory tls --common-name "TLS CA"')
  await shell(
    'coffer config tls csr --name 127.0.0.1 > tls.pem && coffer ca sign tls.pem --directory tls --yes > tls.crt',
  )
  await shell('coffer config tls certificate set tls.crt')
  const url = `https://${appliance.host}:${appliance.port}`
  assert.equal(await shell(`coffer --host ${url} --ca tls/ca.pem state`), 'Operational\n')
  await refused(`coffer --host ${url} --ca ca-rsa/ca.pem state`, /no authority that is trusted/, 3)
})
