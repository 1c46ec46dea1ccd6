// @test long 40
/** OpenBao's PKI issues certificates with keys that stay in Coffer. */

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { freePort } from '../../../tools/free-ports.ts'
import { needsOpenssl35, OPENSSL_35 } from '../../support/tools.ts'
import { BAO, environment, isAnswering, needsBao, run, start, startCofferForBao, until } from './bao.ts'

const TYPES = ['rsa-2048', 'ecdsa-p256', 'mldsa-65']

const { skip } = needsBao().skip === false ? needsOpenssl35() : needsBao()

test('roots and leaves of OpenBao are signed by RSA, P-256 and ML-DSA-65 keys of Coffer', { skip }, async (t) => {
  const {
    home,
    url: coffer,
    token,
  } = await startCofferForBao(t, Object.fromEntries(TYPES.map((type) => [type, [`type=${type}`]])))

  const listens = `127.0.0.1:${await freePort()}`
  const own = environment(home, `http://${listens}`, 'root')
  const options = ['-dev', '-dev-root-token-id=root', '-dev-no-store-token', `-dev-listen-address=${listens}`]
  const server = start(['server', ...options], environment(home, `http://${listens}`))
  t.after(server.end)
  await until('it answers', () => isAnswering(`http://${listens}`))
  const bao = (...args: string[]) => run(BAO, args, own)
  const write = (path: string, ...members: string[]) => bao('write', '-field=certificate', path, ...members)

  const config = 'sys/external-keys/configs/coffer'
  await bao('write', config, 'plugin=transit', `address=${coffer}`, `token=${token}`, 'tls_skip_verify=true')
  await bao('secrets', 'enable', 'pki')
  for (const type of TYPES) {
    await bao('write', `${config}/keys/${type}`, `name=${type}`, 'version=1')
    await bao('write', '-f', `${config}/keys/${type}/grants/pki`)
    const names = [`common_name=Root ${type}`, `issuer_name=${type}`]
    const root = await write('pki/root/generate/kms', ...names, `external_key_ref=coffer:${type}`)
    await bao('write', `pki/roles/${type}`, `issuer_ref=${type}`, 'allow_any_name=true', 'key_type=ec')
    const leaf = await write(`pki/issue/${type}`, 'common_name=leaf.example.org', 'ttl=24h')
    const [rootFile, leafFile] = [join(home, `${type}-root.pem`), join(home, `${type}-leaf.pem`)]
    writeFileSync(rootFile, root)
    writeFileSync(leafFile, leaf)
    const openssl = join(OPENSSL_35!, 'openssl')
    const verified = await run(openssl, ['verify', '-CAfile', rootFile, leafFile], { PATH: process.env.PATH })
    assert.equal(verified, `${leafFile}: OK`)
  }
})
